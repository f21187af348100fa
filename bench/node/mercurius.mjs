// A server from the documentation of Mercurius, with its own pub/sub. It listens on $PORT.
import { setTimeout as sleep } from 'node:timers/promises';
import Fastify from 'fastify';
import mercurius from 'mercurius';
import { typeDefs } from './readings.mjs';

const app = Fastify();
app.register(mercurius, {
  schema: typeDefs,
  subscription: true,
  jit: 1,
  resolvers: {
    Subscription: {
      readings: { subscribe: (_, { resourceIds }, { pubsub }) => pubsub.subscribe(resourceIds) },
    },
  },
});
app.post('/publish', async (request) => {
  const { events, resources, every } = request.body;
  for (let number = 0; number < events; number++) {
    for (const resourceId of resources) {
      const reading = { resourceId, field: 'POWER', at: new Date().toISOString(), value: number, unit: 'W' };
      app.graphql.pubsub.publish({ topic: resourceId, payload: { readings: reading } });
    }
    await sleep(every * 1000);
  }
  return '';
});
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
