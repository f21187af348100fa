import { ApolloProvider } from '@apollo/client/react';
import { prerenderStatic } from '@apollo/client/react/ssr';
import { renderToString } from 'react-dom/server';
import { session, step } from './check.ts';
import { apollo } from './apollo.ts';
import { App, HomeList } from './app.tsx';
import { RenameHome, Homes } from './operations.ts';

step('form', renderToString(<App url={session.url} applicationId="application" />));
const client = apollo(session);
const tree = <ApolloProvider client={client}><HomeList /></ApolloProvider>;
await prerenderStatic({ tree, context: { client }, renderFunction: renderToString });
step('homes', renderToString(tree));
step('homes again', renderToString(tree));
const { data } = await client.query({ query: Homes });
await client.mutate({ mutation: RenameHome, variables: { veId: data!.virtualEntities![0]!.veId, name: 'Cottage' } });
step('homes after a mutation', renderToString(tree));
step('end', null);
process.exit();
