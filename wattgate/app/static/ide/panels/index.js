/** The side panels, actions and transports that the page mounts. The workspace describes what they get. */

import { mountApplicationForm } from "./application-login.js";
import { copyAction } from "./copy-dialog.js";
import { costPanel } from "./cost-panel.js";
import { mountDemonstration } from "./demo-login.js";
import { explorerPanel } from "./explorer-panel.js";
import { guidesPanel } from "./guides-panel.js";
import { livePanel, stream } from "./live-panel.js";
import { trustAction } from "./trust-dialog.js";

/** @import { Action, CurrentRequest, Panel, SubscriptionSink, Workspace } from "../workspace.js" */

/** @type {Panel[]} */
export const PANELS = [explorerPanel, guidesPanel, livePanel, costPanel];

/** @type {Action[]} */
export const ACTIONS = [copyAction, trustAction];

/**
 * Fill the dialog that logs in. It is mounted with the page, so the stream learns of each session here.
 * @param {HTMLElement} root
 * @param {Workspace} workspace
 */
export function mountLogin(root, workspace) {
  mountDemonstration(root, workspace);
  mountApplicationForm(root, workspace);
  stream.attach(workspace);
}

/**
 * @param {CurrentRequest} request
 * @param {SubscriptionSink} sink
 */
export function subscribe(request, sink) {
  return stream.start(request, sink);
}
