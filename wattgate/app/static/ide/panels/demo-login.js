/** The log-ins of the demonstration, one button for each. */

import { element } from "../../shared/dom.js";
import { toGatewayError } from "../../shared/gateway.js";
import { explainLoginError } from "../../shared/login-form.js";

/** @import { Workspace } from "../workspace.js" */

/**
 * @param {HTMLElement} root
 * @param {Workspace} workspace
 */
export function mountDemonstration(root, workspace) {
  const { demonstration } = workspace.facts;
  if (!demonstration) return;
  const error = element("p", { class: "error", role: "alert", hidden: true });
  const buttons = demonstration.logins.map(({ username, shows }) => {
    const button = element(
      "button",
      { type: "button", class: "demo-login", "data-testid": "demo-login", "data-username": username },
      element("span", { class: "demo-user" }, username),
      element("span", { class: "demo-shows" }, shows),
    );
    button.addEventListener("click", async () => {
      error.hidden = true;
      for (const one of buttons) one.disabled = true;
      try {
        await workspace.logIn({ username, password: demonstration.password });
        workspace.notify(`Logged in as ${username}.`);
      } catch (thrown) {
        error.textContent = explainLoginError(toGatewayError(thrown));
        error.hidden = false;
      } finally {
        for (const one of buttons) one.disabled = false;
      }
    });
    return button;
  });
  root.append(
    element("div", { class: "demo-logins", role: "group", "aria-label": "Log-ins of the demonstration" }, buttons),
    error,
  );
}
