/** The state of the session in the bar: who is logged in, and buttons to log in and out. */

import { find } from "../shared/dom.js";

/** @import { Workspace } from "./workspace.js" */

/** @param {Workspace} workspace */
export function setUpSessionBar(workspace) {
  const [state, logIn, logOut] = [".session-state", ".log-in", ".log-out"].map((name) => find(document, name));
  const render = () => {
    const isLoggedIn = workspace.session !== null;
    state.textContent = isLoggedIn ? "Logged in" : "";
    logIn.hidden = isLoggedIn;
    logOut.hidden = !isLoggedIn;
  };
  logIn.addEventListener("click", () => workspace.askToLogIn());
  logOut.addEventListener("click", () => {
    workspace.logOut();
    logIn.focus();
  });
  workspace.on("session", render);
  render();
}
