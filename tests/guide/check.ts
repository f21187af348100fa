// Shared by the checks of the caches: count requests, record a reading, and print steps as JSON.
import { Session } from './gateway.ts';

const send = globalThis.fetch;
let requests = 0;
globalThis.fetch = (...all) => {
  requests += 1;
  return send(...all);
};

const [url, applicationId, username, password, resourceId, value] = process.argv.slice(2) as [string, ...string[]];
export const session = new Session(url, applicationId!, username!, password!);
await session.headers();
requests = 0;

/** Print a step with the number of requests since the last one. */
export function step(name: string, found: unknown): void {
  console.log(JSON.stringify({ step: name, requests, found }));
  requests = 0;
}

export const until = async <T>(read: () => T | undefined | false): Promise<T> => {
  for (;;) {
    const found = read();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 10));
  }
};

/** Record a reading, as a meter does. It is not counted. */
export async function recordReading(): Promise<void> {
  const query = `mutation ($series: [NewReadings!]!) { recordReadings(series: $series) { ... on Recorded { recorded } } }`;
  const series = [{ resourceId, readings: [{ at: '2026-01-06T02:00:00Z', value }] }];
  const response = await send(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(await session.headers()) },
    body: JSON.stringify({ query, variables: { series } }),
  });
  const { errors } = await response.json();
  if (errors) throw new Error(errors[0].message);
}

export { resourceId };
