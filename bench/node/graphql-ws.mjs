// A server from the documentation of graphql-ws, on the package ws. It listens on $PORT.
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildSchema } from 'graphql';
import { useServer } from 'graphql-ws/use/ws';
import { WebSocketServer } from 'ws';
import { typeDefs } from './readings.mjs';

const listeners = new Map(); // the callbacks for new readings, by resource

function follow(resourceIds) {
  const waiting = [];
  let wake = () => {};
  const take = (reading) => { waiting.push(reading); wake(); };
  for (const id of resourceIds) {
    if (!listeners.has(id)) listeners.set(id, new Set());
    listeners.get(id).add(take);
  }
  return (async function* () {
    try {
      while (true) {
        while (waiting.length) yield { readings: waiting.shift() };
        await new Promise((resolve) => { wake = resolve; });
      }
    } finally {
      for (const id of resourceIds) listeners.get(id).delete(take);
    }
  })();
}

const schema = buildSchema(typeDefs);
schema.getSubscriptionType().getFields().readings.subscribe = (_, { resourceIds }) => follow(resourceIds);

const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  const { events, resources, every } = JSON.parse(body);
  for (let number = 0; number < events; number++) {
    for (const resourceId of resources) {
      const reading = { resourceId, field: 'POWER', at: new Date().toISOString(), value: number, unit: 'W' };
      for (const take of listeners.get(resourceId) ?? []) take(reading);
    }
    await sleep(every * 1000);
  }
  response.end();
});
useServer({ schema }, new WebSocketServer({ server, path: '/graphql' }));
server.listen(Number(process.env.PORT), '127.0.0.1');
