/** The requests with which a screen gets a credential of its own, and ends it. */

import { call } from "../shared/gateway.js";

/** @import { Login } from "../shared/gateway.js" */

/**
 * A code for a user, and the secret with which the screen asks for the decision. Times are in seconds.
 * @typedef {object} StartedPairing
 * @property {string} deviceCode
 * @property {string} userCode
 * @property {string} verificationUri
 * @property {number} expiresIn
 * @property {number} interval  Seconds between two polls.
 * @property {string[]} qrCode  The modules of the QR code of the complete address: a text of 0 and 1 for each row.
 */

/**
 * The decision of the user. `paired` is null unless the user has approved.
 * @typedef {{ state: "PENDING" | "APPROVED" | "DENIED", interval: number, paired: Login | null }} Claim
 */

/**
 * Request a code for this screen, without credentials.
 * @param {string} applicationId
 * @param {string} name  A name that the user may change, or an empty text.
 * @returns {Promise<StartedPairing>}
 */
export async function startPairing(applicationId, name) {
  const data = await call(
    `mutation StartPairing($applicationId: ID, $name: String) {
      startDisplayPairing(applicationId: $applicationId, name: $name) {
        ... on DisplayPairing {
          deviceCode userCode verificationUri expiresIn interval qrCode
        }
        ...Refused
      }
    }`,
    { applicationId, name },
  );
  return data.startDisplayPairing;
}

/**
 * Ask for the decision of the user, without credentials.
 * @param {string} applicationId
 * @param {string} deviceCode
 * @returns {Promise<Claim>}
 */
export async function claimPairing(applicationId, deviceCode) {
  const data = await call(
    `mutation ClaimPairing($applicationId: ID, $deviceCode: String!) {
      claimDisplayPairing(applicationId: $applicationId, deviceCode: $deviceCode) {
        ... on DisplayPairingClaim { state interval token expiresAt }
        ...Refused
      }
    }`,
    { applicationId, deviceCode },
  );
  const { state, interval, token, expiresAt } = data.claimDisplayPairing;
  return { state, interval, paired: token ? { token, expiresAt } : null };
}

/**
 * Check that a credential is still valid. Throw a GatewayError if it is not.
 * @param {string} token
 */
export async function checkPaired(token) {
  await call("query Paired { ownDisplay { displayId } }", {}, token);
}

/**
 * End a credential.
 * @param {string} token
 */
export async function endPaired(token) {
  await call("mutation EndPaired { endOwnDisplay { ...Refused } }", {}, token);
}
