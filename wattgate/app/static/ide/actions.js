/** The menu "More" of the toolbar. */

import { element, find } from "../shared/dom.js";
import { setUpMenu } from "../preview/menu.js";

/** @import { Action, Workspace } from "./workspace.js" */

/**
 * @param {Workspace} workspace
 * @param {Action[]} actions
 */
export function mountActions(workspace, actions) {
  const menu = find(document, ".more");
  menu.hidden = !actions.length;
  find(menu, ".more-items").append(...actions.map(({ id, label, hint, run }) => {
    const button = element("button", { type: "button", title: hint ?? null, "data-testid": `action-${id}` }, label);
    button.addEventListener("click", () => run(workspace));
    return button;
  }));
  setUpMenu(menu);
}
