import { gql } from '@apollo/client';
import { recordReading, resourceId, session, step, until } from './check.ts';
import { showReading } from './apollo-cache.ts';
import { apollo } from './apollo.ts';
import { nodesOf } from './gateway.ts';
import { Alerts, Home, Homes, Readings, RenameHome } from './operations.ts';

const client = apollo(session);
const homes = async () => nodesOf((await client.query({ query: Homes })).data!.viewer!.homes);
const homeId = (await homes())[0]!.homeId;
step('list', (await homes()).map(({ name }) => name));
step('list again', (await homes()).map(({ name }) => name));
step('another field of the viewer', (await client.query<any>({ query: gql`{ viewer { unreadAlerts } }` })).data.viewer.unreadAlerts);
step('list beside another field', (await homes()).map(({ name }) => name));
step('record of the list', (await client.query({ query: Home, variables: { homeId } })).data!.home!.name);

let seen = await homes();
client.watchQuery({ query: Homes }).subscribe(({ data, dataState }) => {
  if (dataState === 'complete') seen = nodesOf(data.viewer?.homes);
});
await client.mutate({ mutation: RenameHome, variables: { homeId, name: 'Cottage' } });
step('list after a mutation', (await until(() => seen[0]!.name === 'Cottage' && seen)).map(({ name }) => name));

let live = false;
client.subscribe({ query: Readings, variables: { resourceIds: [resourceId!], since: null } }).subscribe(({ data }) => {
  live = true;
  if (data?.readings) showReading(client.cache, data.readings);
});
await until(() => live);
const before = seen[0]!.resources![0]!.current!.value;
await recordReading();
step('list after a live reading', await until(() => seen[0]!.resources![0]!.current!.value !== before && seen[0]!.resources![0]!.current));

const pages = client.watchQuery({ query: Alerts, variables: { first: 1 } });
const stop = pages.subscribe(() => undefined);
const first = (await client.query({ query: Alerts, variables: { first: 1 } })).data!.viewer!.alerts!;
step('first page', first.edges.length);
await pages.fetchMore({ variables: { after: first.pageInfo.endCursor } });
step('second page', (await client.query({ query: Alerts, variables: { first: 1 } })).data!.viewer!.alerts!.edges.length);
step('pages again', (await client.query({ query: Alerts, variables: { first: 1 } })).data!.viewer!.alerts!.edges.length);
stop.unsubscribe();
step('end', null);
process.exit();
