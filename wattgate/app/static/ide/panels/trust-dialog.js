/**
 * The action that registers the document as trusted. Only the command line registers documents, so the dialog has the
 * file, its digest and the commands, and asks the gateway whether it knows the digest.
 */

import { element } from "../../shared/dom.js";
import { toGatewayError } from "../../shared/gateway.js";
import { codeToCopy, openModal } from "./modal.js";
import { bodyById, digestOf, fileName, registerCommands } from "./trust.js";
import { ownData } from "./own-data.js";

/** @import { CurrentRequest, Workspace } from "../workspace.js" */

/** @type {import("../workspace.js").Action} */
export const trustAction = {
  id: "trust",
  label: "Register as trusted document",
  hint: "The file, its digest and the commands",
  run: (workspace) => {
    try {
      void show(workspace, workspace.currentRequest());
    } catch (thrown) {
      workspace.notify(toGatewayError(thrown).message, { severity: "error" });
    }
  },
};

/**
 * @param {Workspace} workspace
 * @param {CurrentRequest} request
 */
async function show(workspace, request) {
  const { query, variables, operationName } = request;
  const [digest, { applicationId }] = await Promise.all([digestOf(query), ownData(workspace)]);
  const file = fileName(operationName, workspace.operation?.kind ?? "document");
  const hasProblems = Boolean(workspace.analysis?.problems.length);
  const only = workspace.analysis?.operations.length === 1;
  /** @type {(message: string, options?: { severity?: "error" | "info" }) => void} */
  const notify = (message, options) => workspace.notify(message, options);
  openModal("Register as trusted document", [
    hasProblems ? element("p", { class: "error", role: "alert" }, "The document has problems. The gateway registers valid documents only.") : "",
    element("p", {}, "The operator of the gateway registers documents from its command line. No credentials allow it by API."),
    step("1", "Save the document, byte for byte.", saveButton(file, query)),
    step("2", "Check and register it.", codeToCopy(registerCommands(file, applicationId), "Commands that register the document", notify)),
    digest
      ? step("3", "Clients send its digest in place of the text.", codeToCopy(bodyById(digest, variables, only ? null : operationName), "Request by digest", notify))
      : element("p", { class: "panel-note" }, `The browser computes digests only for https and localhost. Run sha256sum ${file} instead.`),
    digest ? status(workspace, request, digest) : "",
  ], "trust-dialog");
}

/**
 * @param {string} number
 * @param {string} text
 * @param {HTMLElement} content
 */
function step(number, text, content) {
  return element("section", { class: "trust-step" }, element("p", {}, element("strong", {}, `${number}. `), text), content);
}

/**
 * @param {string} file
 * @param {string} text
 */
function saveButton(file, text) {
  const button = element("button", { type: "button", class: "quiet-button", "data-testid": "save-document" }, `Save ${file}`);
  button.addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([text], { type: "application/graphql" }));
    const link = element("a", { href: url, download: file });
    link.click();
    URL.revokeObjectURL(url);
  });
  return button;
}

/**
 * @param {Workspace} workspace
 * @param {CurrentRequest} request
 * @param {string} digest
 */
function status(workspace, { variables, operationName, headers }, digest) {
  const result = element("p", { role: "status", "data-testid": "trust-status" });
  const button = element("button", { type: "button", class: "quiet-button", "data-testid": "check-trust" }, "Is it registered?");
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const received = await workspace.dryRun({ documentId: `sha256:${digest}`, variables, operationName }, { headers, isFirst: true });
      const [error] = received?.body?.errors ?? [];
      result.textContent = describe(error, received?.body?.extensions?.cost?.estimated !== undefined);
    } catch (thrown) {
      result.textContent = toGatewayError(thrown).message;
    } finally {
      button.disabled = false;
    }
  });
  return element("div", { class: "trust-step" }, button, result);
}

/**
 * @param {{ message: string, extensions?: { code?: string } } | undefined} error
 * @param {boolean} isKnown
 */
function describe(error, isKnown) {
  if (isKnown) return "Yes: this application has registered it.";
  return error ? `The gateway says: ${error.message}` : "The gateway did not answer with a cost.";
}
