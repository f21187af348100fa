/** The data of the caller, read once for each session. */

import { NOTHING, OWN_DATA_QUERY, readOwnData } from "./own-values.js";

/** @import { Workspace } from "../workspace.js" */
/** @import { OwnData } from "./own-values.js" */

/** @type {{ key: string, data: Promise<OwnData> } | null} */
let read = null;

/**
 * Return what the caller of the active document owns. Without credentials, that is nothing but the application.
 * @param {Workspace} workspace
 * @returns {Promise<OwnData>}
 */
export function ownData(workspace) {
  const headers = workspace.requestHeaders();
  const key = JSON.stringify(headers);
  if (read?.key !== key) read = { key, data: ask(workspace, headers) };
  return read.data;
}

/**
 * @param {Workspace} workspace
 * @param {Record<string, string>} headers
 * @returns {Promise<OwnData>}
 */
async function ask(workspace, headers) {
  const own = { ...NOTHING, applicationId: workspace.applicationId };
  if (!Object.keys(headers).length) return own;
  try {
    const { body } = await workspace.send({ query: OWN_DATA_QUERY }, { headers });
    const data = readOwnData(body?.data);
    return { ...data, applicationId: data.applicationId || own.applicationId };
  } catch {
    read = null; // the next document asks again
    return own;
  }
}
