/** Whose credentials a request has. */

/** @import { Workspace } from "../workspace.js" */

const QUERY = "query IdeCaller { tokenStatus { accountId applicationId } }";

/**
 * Return the account and application of the credentials in headers. Null if the gateway does not say.
 * @param {Workspace} workspace
 * @param {Record<string, string>} headers
 * @returns {Promise<string | null>}
 */
export async function askCaller(workspace, headers) {
  try {
    const { body } = await workspace.send({ query: QUERY }, { headers });
    const { accountId, applicationId } = body.data.tokenStatus;
    return `${applicationId} ${accountId}`;
  } catch {
    return null;
  }
}
