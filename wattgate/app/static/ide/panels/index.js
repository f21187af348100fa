/** The side panels, actions and transports that the page mounts. The workspace describes what they get. */

/** @import { Action, Panel, Subscribe, Workspace } from "../workspace.js" */

/** @type {Panel[]} */
export const PANELS = [];

/** @type {Action[]} */
export const ACTIONS = [];

/** @type {((root: HTMLElement, workspace: Workspace) => void) | null} */
export const mountLogin = null;

/** @type {Subscribe | null} */
export const subscribe = null;
