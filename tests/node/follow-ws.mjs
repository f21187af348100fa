// Follows live readings over a WebSocket, and goes on where it was when the link was lost.
// node follow-ws.mjs http://127.0.0.1:8000/graphql TOKEN RESOURCE...
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'graphql-ws';

const [url, token, ...resourceIds] = process.argv.slice(2);
const query = `subscription ($resourceIds: [ID!]!, $since: String) {
  readings(resourceIds: $resourceIds, since: $since) { resourceId field at value unit }
}`;
// The client sends this very object again at each attempt: the position in it is where it goes on.
const variables = { resourceIds, since: null };
let displaced = false;
let silence;

const client = createClient({
  url: url.replace('http', 'ws'),
  connectionParams: async () => ({ token }), // get a new token here: 4403 means that the token has expired
  retryAttempts: Infinity, // a display comes back for as long as it hangs on the wall
  shouldRetry: () => true, // also when it is refused, which is no close of a socket
  retryWait: (retries) => {
    const seconds = displaced ? 30 : 0; // 4509: newer connections of the account took the place of this one
    return sleep(1000 * (seconds + Math.random() * Math.min(30, 0.5 * 2 ** retries)));
  },
  on: {
    message: listen, // the gateway pings every 20 seconds: who hears nothing for long has lost the link
    closed: (event) => { clearTimeout(silence); displaced = event.code === 4509; },
  },
});

function listen() {
  clearTimeout(silence);
  silence = setTimeout(() => client.terminate(), 35_000);
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
