/** Calls to the gateway's GraphQL endpoint over HTTP. */

import { setFromDateHeader } from "./clock.js";

const ENDPOINT = "/graphql";
const TIMEOUT = 15_000;

export class GatewayError extends Error {
  constructor(message, code) {
    super(message);
    this.name = "GatewayError";
    this.code = code;
  }

  get unauthenticated() {
    return this.code === "UNAUTHENTICATED";
  }

  get unreachable() {
    return this.code === "UNREACHABLE";
  }
}

export async function logIn({ applicationId, username, password }) {
  const data = await call(
    `mutation LogIn($applicationId: ID!, $username: String!, $password: String!) {
      authenticate(applicationId: $applicationId, username: $username, password: $password) { token exp }
    }`,
    { applicationId, username, password },
  );
  return data.authenticate;
}

export async function renew(token) {
  return (await call("mutation Renew { newToken { token exp } }", {}, token)).newToken;
}

export async function logOut(token) {
  await call("mutation LogOut { deleteToken { valid } }", {}, token);
}

export async function listHomes(token) {
  const data = await call(
    `query Homes {
      virtualEntities { veId name city timeZone resources { resourceId classifier } }
    }`,
    {},
    token,
  );
  return data.virtualEntities;
}

const SERIES = `fragment Series on Resource {
  readings(range: $range, period: $period, timeZone: $zone) {
    unit collectedTo buckets { start end value quality estimated }
  }
  costs(range: $range, period: $period, timeZone: $zone) { buckets { energy standingCharge unpriced } }
}`;

/**
 * What a home's energies came to and cost in a range. `resources` are ids by names such as electricity; the body has
 * the same names.
 */
export function readHistory(token, resources, { start, end, period, zone }) {
  const names = Object.keys(resources);
  const declared = names.map((name) => `, $${name}: ID!`).join("");
  const fields = names.map((name) => `${name}: resource(resourceId: $${name}) { ...Series }`).join(" ");
  const range = { start: new Date(start).toISOString(), end: new Date(end).toISOString() };
  return call(
    `query History($range: TimeRange!, $period: Period!, $zone: TimeZone!${declared}) { ${fields} } ${SERIES}`,
    { range, period, zone, ...resources },
    token,
  );
}

export async function call(query, variables, token) {
  const headers = { "Content-Type": "application/json", ...(token && { token }) };
  const { status, body } = await post(headers, JSON.stringify({ query, variables }));
  const [error] = body.errors ?? [];
  if (error) throw new GatewayError(error.message, error.extensions?.code);
  if (status === 401) throw new GatewayError("The log-in is no longer good", "UNAUTHENTICATED");
  if (!body.data) throw new GatewayError(`The gateway answered with status ${status}`);
  return body.data;
}

async function post(headers, payload) {
  try {
    const response = await fetch(ENDPOINT, { method: "POST", headers, body: payload, signal: AbortSignal.timeout(TIMEOUT) });
    setFromDateHeader(response.headers.get("Date"));
    // A proxy in front of the gateway may body with a page of its own.
    const body = await response.json().catch(() => ({}));
    return { status: response.status, body };
  } catch {
    throw new GatewayError("The gateway cannot be reached", "UNREACHABLE");
  }
}
