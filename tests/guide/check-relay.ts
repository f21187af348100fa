import { commitMutation, createOperationDescriptor, fetchQuery, getRequest, requestSubscription } from 'relay-runtime';
import { recordReading, resourceId, session, step, until } from './check.ts';
import { nodesOf } from './gateway.ts';
import { createEnvironment, showReading } from './relay/environment.ts';
import AlertsQuery, { type documentsAlertsQuery } from './relay/__generated__/documentsAlertsQuery.graphql.ts';
import HomeQuery, { type documentsHomeQuery } from './relay/__generated__/documentsHomeQuery.graphql.ts';
import RefetchQuery, { type documentsHomeRefetchQuery } from './relay/__generated__/documentsHomeRefetchQuery.graphql.ts';
import HomesQuery, { type documentsHomesQuery } from './relay/__generated__/documentsHomesQuery.graphql.ts';
import Readings, { type documentsReadingsSubscription } from './relay/__generated__/documentsReadingsSubscription.graphql.ts';
import Rename, { type documentsRenameMutation } from './relay/__generated__/documentsRenameMutation.graphql.ts';

const environment = createEnvironment(session);
const cached = { fetchPolicy: 'store-or-network' } as const;
const homes = async () =>
  nodesOf((await fetchQuery<documentsHomesQuery>(environment, HomesQuery, {}, cached).toPromise())!.viewer.homes);
const listed = createOperationDescriptor(getRequest(HomesQuery), {});
environment.retain(listed);
const [first] = await homes();
const { id, homeId } = first!;
step('list', (await homes()).map(({ name }) => name));
step('list again', (await homes()).map(({ name }) => name));
const one = await fetchQuery<documentsHomeQuery>(environment, HomeQuery, { homeId }, cached).toPromise();
step('record of the list', one!.home!.name);
await fetchQuery<documentsHomeRefetchQuery>(environment, RefetchQuery, { id }, cached).toPromise();
step('refetchable fragment of the list', environment.getStore().getSource().get(id)!.name);

const seen = () =>
  nodesOf((environment.lookup(listed.fragment).data as documentsHomesQuery['response']).viewer.homes);
commitMutation<documentsRenameMutation>(environment, { mutation: Rename, variables: { homeId, name: 'Cottage' } });
await until(() => seen()[0]!.name === 'Cottage');
step('list after a mutation', seen().map(({ name }) => name));

let live = false;
requestSubscription<documentsReadingsSubscription>(environment, {
  subscription: Readings,
  variables: { resourceIds: [resourceId!], since: null },
  updater: (store) => showReading(store),
  onNext: () => (live = true),
});
await until(() => live);
const current = () => seen()[0]!.resources![0]!.current!;
const before = current().value;
await recordReading();
await until(() => current().value !== before);
step('list after a live reading', current());

const page = async (after?: string) => {
  const variables = { first: 1, after };
  environment.retain(createOperationDescriptor(getRequest(AlertsQuery), variables));
  await fetchQuery<documentsAlertsQuery>(environment, AlertsQuery, variables, cached).toPromise();
  const key = 'client:root:viewer:__documentsAlerts_alerts_connection';
  const source = environment.getStore().getSource();
  const connection = source.get(key)!;
  const info = source.get((connection.pageInfo as { __ref: string }).__ref)!;
  return { edges: (connection.edges as { __refs: string[] }).__refs.length, cursor: String(info.endCursor) };
};
const { edges, cursor } = await page();
step('first page', edges);
step('second page', (await page(cursor)).edges);
step('pages again', (await page(cursor)).edges);
step('end', null);
process.exit();
