/** Calls to the gateway's GraphQL endpoint over HTTP. */

import { setByHeader } from "./clock.js";

const ENDPOINT = "/graphql";
const TIMEOUT = 15_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

export class GatewayError extends Error {
  constructor(message, code) {
    super(message);
    this.name = "GatewayError";
    this.code = code;
  }

  get denied() {
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

/** A home's resources with their newest readings, their last 24 hours and their last seven days. */
export async function readHome(token, { veId, zone, at }) {
  const data = await call(
    `query Home($veId: ID!, $zone: TimeZone!, $dayAgo: DateTime!, $weekAgo: DateTime!, $now: DateTime!) {
      virtualEntity(veId: $veId) {
        resources {
          resourceId
          classifier
          currentRates { rate standingCharge }
          current { field unit at value }
          day: readings(range: {start: $dayAgo, end: $now}, period: PT1H, timeZone: $zone) { buckets { start end value } }
          week: readings(range: {start: $weekAgo, end: $now}, period: P1D, timeZone: $zone) { buckets { start end value } }
        }
      }
    }`,
    {
      veId,
      zone,
      now: new Date(at).toISOString(),
      dayAgo: new Date(at - DAY).toISOString(),
      weekAgo: new Date(at - 7 * DAY).toISOString(),
    },
    token,
  );
  // Both ranges touch one bucket more than is shown, whatever the clocks did meanwhile.
  return data.virtualEntity.resources.map((resource) => ({
    ...resource,
    day: resource.day.buckets.slice(-24),
    week: resource.week.buckets.slice(-7),
  }));
}

async function call(query, variables, token) {
  const headers = { "Content-Type": "application/json", ...(token && { token }) };
  const { status, answer } = await post(headers, JSON.stringify({ query, variables }));
  const [error] = answer.errors ?? [];
  if (error) throw new GatewayError(error.message, error.extensions?.code);
  if (status === 401) throw new GatewayError("The log-in is no longer good", "UNAUTHENTICATED");
  if (!answer.data) throw new GatewayError(`The gateway answered with status ${status}`);
  return answer.data;
}

async function post(headers, body) {
  try {
    const response = await fetch(ENDPOINT, { method: "POST", headers, body, signal: AbortSignal.timeout(TIMEOUT) });
    setByHeader(response.headers.get("Date"));
    // A proxy in front of the gateway may answer with a page of its own.
    const answer = await response.json().catch(() => ({}));
    return { status: response.status, answer };
  } catch {
    throw new GatewayError("The gateway cannot be reached", "UNREACHABLE");
  }
}
