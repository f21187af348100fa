import { gql } from '@urql/core';
import { recordReading, resourceId, session, step, until } from './check.ts';
import { Alerts, Home, Homes, Readings, RenameHome } from './operations.ts';
import { nodesOf } from './gateway.ts';
import { urql } from './urql.ts';

const client = urql(session);
const homes = async () => nodesOf((await client.query(Homes, {})).data!.viewer!.homes);
const homeId = (await homes())[0]!.homeId;
step('list', (await homes()).map(({ name }) => name));
step('list again', (await homes()).map(({ name }) => name));
step('another field of the viewer', (await client.query(gql`{ viewer { unreadAlerts } }`, {})).data.viewer.unreadAlerts);
step('list beside another field', (await homes()).map(({ name }) => name));
step('record of the list', (await client.query(Home, { homeId })).data!.home!.name);

let seen = await homes();
client.query(Homes, {}).subscribe(({ data }) => {
  if (data?.viewer) seen = nodesOf(data.viewer.homes);
});
await client.mutation(RenameHome, { homeId, name: 'Cottage' });
step('list after a mutation', (await until(() => seen[0]!.name === 'Cottage' && seen)).map(({ name }) => name));

let live = false;
client.subscription(Readings, { resourceIds: [resourceId!], since: null }).subscribe(() => (live = true));
await until(() => live);
const before = seen[0]!.resources![0]!.current!.value;
await recordReading();
step('list after a live reading', await until(() => seen[0]!.resources![0]!.current!.value !== before && seen[0]!.resources![0]!.current));

const alerts = async (after?: string | null) =>
  (await client.query(Alerts, { first: 1, after })).data!.viewer!.alerts!;
const first = await alerts();
step('first page', first.edges.length);
step('second page', (await alerts(first.pageInfo.endCursor)).edges.length);
step('pages again', (await alerts(first.pageInfo.endCursor)).edges.length);
step('end', null);
process.exit();
