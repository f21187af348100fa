// A server from the documentation of Mercurius, on data in memory. It listens on $PORT, and compiles if $JIT is 1.
import Fastify from 'fastify';
import mercurius from 'mercurius';
import { resolvers, typeDefs, userOf } from './homes.mjs';

const app = Fastify();
app.register(mercurius, {
  schema: typeDefs,
  resolvers,
  jit: Number(process.env.JIT),
  context: (request) => ({ user: userOf(request.headers) }),
});
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
