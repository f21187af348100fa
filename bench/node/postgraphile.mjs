// PostGraphile as a library, from its documentation, on the gateway's tables in $DATABASE_URL. It listens on $PORT.
// The table of readings has no foreign keys: a smart tag declares the relation to resources.
import { createServer } from 'node:http';
import { postgraphile } from 'postgraphile';
import { makePgService } from 'postgraphile/adaptors/pg';
import { grafserv } from 'postgraphile/grafserv/node';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';
import { jsonPgSmartTags } from 'postgraphile/utils';

const tags = { foreignKey: '(resource_number) references resource (number)' };
const preset = {
  extends: [PostGraphileAmberPreset],
  plugins: [jsonPgSmartTags({ version: 1, config: { class: { 'public.reading': { tags } } } })],
  pgServices: [makePgService({ connectionString: process.env.DATABASE_URL, schemas: ['public'] })],
  grafserv: { graphqlPath: '/graphql', graphiql: false, watch: false },
};

const server = createServer();
const served = postgraphile(preset).createServ(grafserv);
await served.addTo(server);
await served.ready();
server.listen(Number(process.env.PORT), '127.0.0.1');
