/** Requests to the gateway's GraphQL endpoint over HTTP. */

import { clock } from "./clock.js";

/** @import { NoValueReason } from "../display/cost-basis.js" */

const ENDPOINT = "/graphql";
const TIMEOUT = 15_000;

/**
 * A token and the time at which it expires, in seconds since 1970. A log-in also says its account.
 * @typedef {{ token: string, expiresAt: string, accountId?: string, applicationId?: string }} Login
 */

/**
 * @typedef {object} Home
 * @property {string} homeId
 * @property {string} name
 * @property {string | null} city
 * @property {string | null} timeZone
 * @property {{ resourceId: string, classifier: string | null }[]} resources
 */

/**
 * @typedef {object} ReadingBucket
 * @property {string} start
 * @property {string} end
 * @property {number | null} value
 * @property {string} quality
 * @property {number} estimated
 */

/**
 * Costs of a bucket in the currency of the series, as decimals. The cost of the energy is null where nothing is priced;
 * `noValueReason` says why.
 * @typedef {object} CostBucket
 * @property {string | null} energyCostWithVat
 * @property {string | null} standingChargesWithVat
 * @property {string | null} unpriced
 * @property {NoValueReason | null} noValueReason
 */

/**
 * Readings and costs of one resource, in buckets of the same length. Costs are null without a tariff.
 * @typedef {object} Series
 * @property {{ unit: string, collectedTo: string | null, buckets: ReadingBucket[] }} readings
 * @property {{ currency: string, buckets: CostBucket[] } | null} costs
 */

/**
 * A series with the time of its first reading, and the series of an earlier range if it was read.
 * @typedef {Series & { firstTime: string | null, before: Series | null }} HistorySeries
 */

/**
 * The ids of a home's resources by energy: electricity, gas or exported.
 * @typedef {Record<string, string>} ResourceIds
 */

/**
 * A range of time in milliseconds since 1970, the length of its buckets (ISO 8601) and their time zone. `before` is an
 * earlier range to compare with, or null.
 * @typedef {{ start: number, end: number, period: string, zone: string, before: { start: number, end: number } | null
 *   }} HistoryRange
 */

/** An error that the gateway returned, or a request that failed. */
export class GatewayError extends Error {
  /**
   * @param {string} message
   * @param {string} [code]  An error code of the gateway, or UNREACHABLE.
   * @param {number} [retryAfter]  Seconds until the next attempt may succeed.
   */
  constructor(message, code, retryAfter) {
    super(message);
    this.name = "GatewayError";
    this.code = code;
    this.retryAfter = retryAfter;
  }

  /** Whether the credentials are missing, wrong or expired. */
  get unauthenticated() {
    return this.code === "UNAUTHENTICATED";
  }

  /** Whether the password is right, and a code of the second factor is missing or wrong. */
  get needsCode() {
    return this.code === "SECOND_FACTOR_REQUIRED";
  }

  /** Whether no response arrived. */
  get unreachable() {
    return this.code === "UNREACHABLE";
  }
}

/**
 * Return a thrown value as a GatewayError.
 * @param {unknown} thrown
 * @returns {GatewayError}
 */
export function toGatewayError(thrown) {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError(thrown instanceof Error ? thrown.message : String(thrown));
}

/**
 * Log in to an account. `code` is that of the second factor, if the account has one.
 * @param {{ applicationId: string, username: string, password: string, code?: string }} credentials
 * @returns {Promise<Login>}
 */
export async function logIn({ applicationId, username, password, code }) {
  const data = await call(
    `mutation LogIn($applicationId: ID!, $username: String!, $password: String!, $code: String) {
      authenticate(applicationId: $applicationId, username: $username, password: $password, code: $code) {
        ... on Login {
          token expiresAt accountId applicationId
        }
        ...Refused
      }
    }`,
    { applicationId, username, password, code },
  );
  return data.authenticate;
}

/**
 * Get a new token for the account of a valid one.
 * @param {string} token
 * @returns {Promise<Login>}
 */
export async function renew(token) {
  return (await call("mutation Renew { createToken { ... on IssuedToken { token expiresAt } ...Refused } }", {}, token)).createToken;
}

/**
 * Revoke a token.
 * @param {string} token
 */
export async function logOut(token) {
  await call("mutation LogOut { deleteToken { ...Refused } }", {}, token);
}

/** The fields of a refusal that mutations select. A request throws it as a GatewayError. */
const REFUSED = "fragment Refused on Refusal { refusal: code message }";

const HOME = "fragment Home on Home { homeId name city timeZone resources { resourceId classifier } }";

/** Users have no access to `application`. Administrators see the homes of all users there, with closed ones. */
const HOMES = `query Homes($own: String, $all: String) {
  viewer { homes(first: 100, after: $own) { ...Page } }
  application { homes(first: 100, after: $all) { ...Page } }
}
fragment Page on HomeConnection { edges { node { active ...Home } } pageInfo { hasNextPage endCursor } }
${HOME}`;

const PAIRED_HOME = `query PairedHome { ownDisplay { home { ...Home } } }
${HOME}`;

/**
 * Return the homes of an account: those of its user, or of all users for an administrator. Oldest first.
 * @param {string} token
 * @returns {Promise<Home[]>}
 */
export async function listHomes(token) {
  /** @type {Home[]} */
  const homes = [];
  const after = { own: null, all: null };
  for (;;) {
    const { data, refused } = await callInPart(HOMES, after, token, "FORBIDDEN");
    const page = data.application?.homes ?? data.viewer?.homes;
    if (!page) throw refused ?? new GatewayError("The gateway responded without homes");
    homes.push(...page.edges.map((/** @type {any} */ { node }) => node).filter((/** @type {any} */ { active }) => active));
    if (!page.pageInfo.hasNextPage) return homes;
    after[data.application ? "all" : "own"] = page.pageInfo.endCursor;
  }
}

/**
 * Return the home of a paired screen, as a list of one home.
 * @param {string} token
 * @returns {Promise<Home[]>}
 */
export async function listPairedHome(token) {
  const { ownDisplay } = await call(PAIRED_HOME, {}, token);
  return ownDisplay.home ? [ownDisplay.home] : [];
}

/** The gateway charges fields under `@include` in any case. So a document without a comparison leaves them out. */
const COMPARISON = `
  readingsBefore: readings(range: $before, period: $period, timeZone: $zone) { ...Readings }
  costsBefore: costs(range: $before, period: $period, timeZone: $zone) { ...Costs }`;

const READINGS_AND_COSTS = `fragment Readings on ReadingSeries { unit collectedTo buckets { start end value quality estimated } }
fragment Costs on CostSeries {
  currency
  buckets { energyCostWithVat standingChargesWithVat unpriced noValueReason }
}`;

/**
 * Return the readings and costs of a home in a range, by energy, in one request. Energies whose data is withheld are
 * left out.
 * @param {string} token
 * @param {ResourceIds} resources
 * @param {HistoryRange} range
 * @returns {Promise<Record<string, HistorySeries>>}
 */
export async function readHistory(token, resources, { start, end, period, zone, before }) {
  const names = Object.keys(resources);
  const declared = names.map((name) => `, $${name}: ID!`).join("");
  const fields = names.map((name) => `${name}: resource(resourceId: $${name}) { ...Series }`).join(" ");
  const range = toTimeRange({ start, end });
  const compared = before ? { before: toTimeRange(before) } : {};
  const declaredBefore = before ? ", $before: TimeRange!" : "";
  const comparison = before ? COMPARISON : "";
  const { data } = await callInPart(
    `query History($range: TimeRange!, $period: Period!, $zone: TimeZone!${declaredBefore}${declared}) {
      ${fields}
    }
    fragment Series on Resource {
      firstTime
      readings(range: $range, period: $period, timeZone: $zone) { ...Readings }
      costs(range: $range, period: $period, timeZone: $zone) { ...Costs }${comparison}
    }
    ${READINGS_AND_COSTS}`,
    { range, ...compared, period, zone, ...resources },
    token,
    "CONSENT_REVOKED",
  );
  const read = names.filter((name) => data[name]?.readings).map((name) => [name, toHistorySeries(data[name])]);
  return Object.fromEntries(read);
}

/**
 * @param {any} resource
 * @returns {HistorySeries}
 */
function toHistorySeries({ firstTime, readings, costs, readingsBefore, costsBefore }) {
  const before = readingsBefore ? { readings: readingsBefore, costs: costsBefore ?? null } : null;
  return { firstTime, readings, costs, before };
}

/**
 * Return the error of an answer of the REST interface. Without a body of the gateway, the error has the status alone.
 * @param {number} status
 * @param {any} body
 */
export function toRestError(status, body) {
  const message = body?.description ?? body?.error ?? `The gateway responded with status ${status}`;
  return new GatewayError(message, status === 401 ? "UNAUTHENTICATED" : body?.code, body?.retryAfter);
}

/**
 * Return a range as the gateway takes it.
 * @param {{ start: number, end: number }} range  In milliseconds since 1970.
 */
export function toTimeRange({ start, end }) {
  return { start: new Date(start).toISOString(), end: new Date(end).toISOString() };
}

/**
 * Send a GraphQL operation and return its data. Throw a GatewayError for an error, in a part of the data too.
 * @param {string} query
 * @param {Record<string, unknown>} variables
 * @param {string} [token]
 * @returns {Promise<any>}  The members that the document selects.
 */
export async function call(query, variables, token) {
  return (await callInPart(query, variables, token)).data;
}

/**
 * Send a GraphQL operation as `call` does, but accept null in place of a part of the data that has this error code.
 * `refused` is the first such error.
 * @param {string} query
 * @param {Record<string, unknown>} variables
 * @param {string} [token]
 * @param {string} [accepted]
 * @returns {Promise<{ data: any, refused: GatewayError | null }>}
 */
export async function callInPart(query, variables, token, accepted) {
  /** @type {Record<string, string>} */
  const headers = { "Content-Type": "application/json", ...(token && { token }) };
  const document = query.includes("...Refused") ? `${query} ${REFUSED}` : query;
  const { status, body } = await post(headers, JSON.stringify({ query: document, variables }));
  /** @type {GatewayError[]} */
  const errors = (body.errors ?? []).map((/** @type {any} */ { message, extensions }) => new GatewayError(message, extensions?.code, extensions?.retryAfter));
  const error = errors.find(({ code }) => !accepted || code !== accepted);
  if (error) throw error;
  if (status === 401) throw new GatewayError("The session has expired", "UNAUTHENTICATED");
  if (!body.data) throw new GatewayError(`The gateway responded with status ${status}`);
  const refusal = Object.values(body.data).find((value) => value?.refusal);
  if (refusal) throw new GatewayError(refusal.message, refusal.refusal);
  return { data: body.data, refused: errors[0] ?? null };
}

/**
 * @param {Record<string, string>} headers
 * @param {string} payload
 * @returns {Promise<{ status: number, body: any }>}
 */
async function post(headers, payload) {
  try {
    const signal = AbortSignal.timeout(TIMEOUT);
    const response = await fetch(ENDPOINT, { method: "POST", headers, body: payload, signal });
    clock.setFromDateHeader(response.headers.get("Date"));
    // A proxy in front of the gateway may respond with an HTML page.
    const body = await response.json().catch(() => ({}));
    return { status: response.status, body };
  } catch {
    throw new GatewayError("The gateway cannot be reached", "UNREACHABLE");
  }
}
