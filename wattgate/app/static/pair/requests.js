/** The requests of the pairing page: a user decides about codes, and manages the paired displays. */

import { call } from "../shared/gateway.js";

/** @typedef {{ homeId: string, name: string }} OwnHome */

/**
 * A screen with a credential for one home. `lastSeenAt` is exact to an hour.
 * @typedef {{ displayId: string, homeId: string, name: string, lastSeenAt: string }} PairedDisplay
 */

const DISPLAY_FIELDS = "displayId homeId name lastSeenAt";

/**
 * Return the homes and the paired displays of an account.
 * @param {string} token
 * @returns {Promise<{ homes: OwnHome[], displays: PairedDisplay[] }>}
 */
export async function readAccount(token) {
  const data = await call(
    `query PairingAccount {
      viewer {
        homes(first: 100) { edges { node { homeId name } } }
        pairedDisplays { ${DISPLAY_FIELDS} }
      }
    }`,
    {},
    token,
  );
  /** @type {{ edges: { node: OwnHome }[] }} */
  const { edges } = data.viewer.homes;
  return { homes: edges.map(({ node }) => node), displays: data.viewer.pairedDisplays };
}

/**
 * Return the paired displays of an account.
 * @param {string} token
 * @returns {Promise<PairedDisplay[]>}
 */
export async function listDisplays(token) {
  const data = await call(`query PairedDisplays { viewer { pairedDisplays { ${DISPLAY_FIELDS} } } }`, {}, token);
  return data.viewer.pairedDisplays;
}

/**
 * Return the name that a waiting screen has given itself. Throw a GatewayError if no screen waits with this code.
 * @param {string} token
 * @param {string} userCode
 * @returns {Promise<string>}
 */
export async function checkCode(token, userCode) {
  const data = await call(
    `mutation CheckPairing($userCode: String!) {
      checkDisplayPairing(userCode: $userCode) { ... on DisplayPairingRequest { name } ...Refused }
    }`,
    { userCode },
    token,
  );
  return data.checkDisplayPairing.name;
}

/**
 * Give a screen access to a home.
 * @param {string} token
 * @param {{ userCode: string, homeId: string, name: string }} approval
 */
export async function approve(token, approval) {
  await call(
    `mutation ApprovePairing($userCode: String!, $homeId: ID!, $name: String) {
      approveDisplayPairing(userCode: $userCode, homeId: $homeId, name: $name) { ...Refused }
    }`,
    approval,
    token,
  );
}

/**
 * Refuse a screen.
 * @param {string} token
 * @param {string} userCode
 */
export async function deny(token, userCode) {
  await call(
    "mutation DenyPairing($userCode: String!) { denyDisplayPairing(userCode: $userCode) { ...Refused } }",
    { userCode },
    token,
  );
}

/**
 * Give a paired display another name.
 * @param {string} token
 * @param {string} displayId
 * @param {string} name
 */
export async function renameDisplay(token, displayId, name) {
  await call(
    `mutation RenameDisplay($displayId: ID!, $name: String!) {
      renamePairedDisplay(displayId: $displayId, name: $name) { ... on PairedDisplay { displayId } ...Refused }
    }`,
    { displayId, name },
    token,
  );
}

/**
 * End the access of a paired display.
 * @param {string} token
 * @param {string} displayId
 */
export async function revokeDisplay(token, displayId) {
  await call(
    "mutation RevokeDisplay($displayId: ID!) { revokePairedDisplay(displayId: $displayId) { ...Refused } }",
    { displayId },
    token,
  );
}
