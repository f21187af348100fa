/** The requests of the page of the own data: the stored readings, the export, and the ends of homes and of everything. */

import { call, callInPart, GatewayError, toRestError } from "../shared/gateway.js";

/** @typedef {{ resourceId: string, name: string, classifier: string | null, firstTime: string | null, lastTime: string | null }} Series */
/** @typedef {{ homeId: string, name: string, timeZone: string | null, resources: Series[] }} OwnHome */
/** @typedef {{ homeId: string, name: string, joinedAt: string }} SharedHome */
/** @typedef {{ homes: OwnHome[], sharedHomes: SharedHome[] }} StoredData */

/**
 * @typedef {object} DataExport
 * @property {"QUEUED" | "RUNNING" | "DONE" | "FAILED"} state
 * @property {number} progress
 * @property {string | null} reason
 * @property {number | null} size
 * @property {string | null} downloadPath
 * @property {string} createdAt
 * @property {string | null} expiresAt
 */

/**
 * How the caller proves who it is, if the log-in is some minutes old.
 * @typedef {{ password?: string, code?: string }} Proof
 */

const STORED = `query Stored($after: String) {
  viewer {
    homes(first: 50, after: $after) {
      edges { node { homeId name timeZone resources { resourceId name classifier costOf firstTime lastTime } } }
      pageInfo { hasNextPage endCursor }
    }
    sharedHomes { homeId name joinedAt }
  }
}`;

const EXPORT = "{ dataExport { ...Export } } fragment Export on DataExport { state progress reason size downloadPath createdAt expiresAt }";

/**
 * Return the homes of the user with their series, oldest first, and those that others share. A series whose data is
 * withheld has no times.
 * @param {string} token
 * @returns {Promise<StoredData>}
 */
export async function readStored(token) {
  /** @type {OwnHome[]} */
  const homes = [];
  /** @type {string | null} */
  let after = null;
  for (;;) {
    /** @type {{ viewer: any }} */
    const { viewer } = (await callInPart(STORED, { after }, token, "CONSENT_REVOKED")).data;
    homes.push(...viewer.homes.edges.map((/** @type {any} */ { node }) => withoutCosts(node)));
    if (!viewer.homes.pageInfo.hasNextPage) return { homes, sharedHomes: viewer.sharedHomes };
    after = viewer.homes.pageInfo.endCursor;
  }
}

/**
 * Return a home without its series of costs, which are computed and not stored.
 * @param {any} home
 * @returns {OwnHome}
 */
function withoutCosts(home) {
  return { ...home, resources: home.resources.filter((/** @type {any} */ { costOf }) => costOf === null) };
}

/**
 * Return the export of the user, or null if there is none.
 * @param {string} token
 * @returns {Promise<DataExport | null>}
 */
export async function readExport(token) {
  return (await callInPart(EXPORT, {}, token, "NOT_FOUND")).data.dataExport;
}

/**
 * Start an export. If one is running or is new, return that.
 * @param {string} token
 * @returns {Promise<DataExport>}
 */
export async function startExport(token) {
  const start = `mutation Start { exportMyData { ... on DataExport {
    state progress reason size downloadPath createdAt expiresAt } ...Refused } }`;
  return (await call(start, {}, token)).exportMyData;
}

/**
 * Return the archive of an export.
 * @param {string} address
 * @param {string} token
 * @returns {Promise<Blob>}
 */
export async function download(address, token) {
  let response;
  try {
    response = await fetch(address, { headers: { token } });
    if (response.ok) return await response.blob();
  } catch {
    throw new GatewayError("The download has failed", "UNREACHABLE");
  }
  throw toRestError(response.status, await response.json().catch(() => null));
}

/**
 * Erase a home, or without one everything.
 * @param {string} token
 * @param {string | null} homeId
 * @param {Proof} proof
 */
export async function erase(token, homeId, { password, code }) {
  await call(
    `mutation Erase($homeId: ID, $everything: Boolean, $password: String, $code: String) {
      eraseMyData(homeId: $homeId, everything: $everything, password: $password, code: $code) { ...Refused }
    }`,
    { homeId, everything: homeId === null, password, code },
    token,
  );
}

/**
 * Close a home. Its readings stay.
 * @param {string} token
 * @param {string} homeId
 */
export async function close(token, homeId) {
  await call("mutation Close($homeId: ID!) { deactivateHome(homeId: $homeId) { ...Refused } }", { homeId }, token);
}

/**
 * Leave a home that another person shares.
 * @param {string} token
 * @param {string} homeId
 */
export async function leave(token, homeId) {
  await call("mutation Leave($homeId: ID!) { leaveSharedHome(homeId: $homeId) { ...Refused } }", { homeId }, token);
}
