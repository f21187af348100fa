/** The requests of the account pages. They need no credentials. */

import { call } from "../shared/gateway.js";

/**
 * Values of a form by the names of its inputs, with the ID of the application.
 * @typedef {Record<string, string>} Values
 */

/** A language tag that the gateway accepts. */
const CULTURE = /^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/;

/**
 * Register a user whose e-mail address is the username. Mails are in the language of the browser.
 * @param {Values} values
 */
export async function register({ applicationId, name, email, password }) {
  const cultureCode = CULTURE.test(navigator.language) ? navigator.language : null;
  await call(
    `mutation Register($applicationId: ID!, $name: String!, $email: String!, $password: String!, $culture: String) {
      register(applicationId: $applicationId, name: $name, username: $email, email: $email, password: $password,
        cultureCode: $culture) { ... on User { userId } ...Refused }
    }`,
    { applicationId, name, email, password, culture: cultureCode },
  );
}

/**
 * Request another verification code.
 * @param {Values} values
 */
export async function requestVerification({ applicationId, username, password }) {
  await call(
    `mutation RequestVerification($applicationId: ID!, $username: String!, $password: String!) {
      requestVerification(applicationId: $applicationId, username: $username, password: $password) { ...Refused }
    }`,
    { applicationId, username, password },
  );
}

/**
 * Verify an account with the code from its mail.
 * @param {Values} values
 */
export async function verify({ applicationId, username, password, token }) {
  await call(
    `mutation Verify($applicationId: ID!, $username: String!, $password: String!, $token: String!) {
      verifyUser(applicationId: $applicationId, username: $username, password: $password, token: $token) { ...Refused }
    }`,
    { applicationId, username, password, token },
  );
}

/**
 * Request a mail with a code for a new password.
 * @param {Values} values
 */
export async function requestPasswordReset({ applicationId, username }) {
  await call(
    `mutation RequestPasswordReset($applicationId: ID!, $username: String!) {
      requestPasswordReset(applicationId: $applicationId, username: $username) { ...Refused }
    }`,
    { applicationId, username },
  );
}

/**
 * Set a new password with the code from the mail.
 * @param {Values} values
 */
export async function resetPassword({ applicationId, username, token, newPassword }) {
  await call(
    `mutation ResetPassword($applicationId: ID!, $username: String!, $token: String!, $newPassword: String!) {
      resetPassword(applicationId: $applicationId, username: $username, token: $token, newPassword: $newPassword) { ...Refused }
    }`,
    { applicationId, username, token, newPassword },
  );
}

/**
 * Confirm a new e-mail address with the code from the mail to it.
 * @param {Values} values
 */
export async function confirmEmail({ applicationId, token }) {
  await call(
    `mutation ConfirmEmail($applicationId: ID!, $token: String!) {
      confirmEmailChange(applicationId: $applicationId, token: $token) { ...Refused }
    }`,
    { applicationId, token },
  );
}
