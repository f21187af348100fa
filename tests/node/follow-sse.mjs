// Follows live readings over server-sent events, and goes on where it was when the link was lost.
// node follow-sse.mjs http://127.0.0.1:8000/graphql TOKEN RESOURCE... [--single]
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'graphql-sse';

const [url, token, ...resourceIds] = process.argv.slice(2).filter((word) => word !== '--single');
const query = `subscription ($resourceIds: [ID!]!, $since: String) {
  readings(resourceIds: $resourceIds, since: $since) { resourceId field at value unit }
}`;
// The client sends this very object again at each attempt: the position in it is where it goes on.
const variables = { resourceIds, since: null };

const client = createClient({
  url,
  singleConnection: process.argv.includes('--single'), // one stream for all subscriptions of a page, over HTTP/1
  headers: async () => ({ token }), // get a new token here when the old one has expired
  retryAttempts: Infinity, // a display comes back for as long as it hangs on the wall
  retry: (retries) => sleep(1000 * Math.random() * Math.min(30, 0.5 * 2 ** retries)),
  fetchFn: fetchAlive,
});

// The gateway sends a comment every 15 seconds: a stream that is silent for long has lost the link.
async function fetchAlive(address, options) {
  const response = await fetch(address, options);
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
  let silence;
  const listen = (stream) => {
    clearTimeout(silence);
    silence = setTimeout(() => stream.error(new Error('the stream is silent')), 35_000);
  };
  const listening = new TransformStream({
    start: listen,
    transform: (chunk, stream) => { listen(stream); stream.enqueue(chunk); },
    flush: () => clearTimeout(silence),
  });
  return new Response(response.body.pipeThrough(listening), response);
}

client.subscribe({ query, variables }, {
  next({ data, errors, extensions }) {
    if (errors) console.error(errors);
    variables.since = extensions?.position ?? variables.since;
    if (extensions && 'recovered' in extensions) {
      // false: there is a gap; the next payloads are the missed readings from the database
      console.log(JSON.stringify({ recovered: extensions.recovered }));
    }
    if (data?.readings) console.log(JSON.stringify(data.readings));
  },
  error(problem) { console.error(problem); process.exit(1); },
  complete() {},
});
