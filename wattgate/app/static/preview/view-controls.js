/** The controls of the result: which panel is shown, and at which width and in which dark mode the mail is. */

import { find, findAll, findAs } from "../shared/dom.js";

/** @import { DarkMode, MailFrame } from "../shared/mail-frame.js" */
/** @import { Result } from "./result.js" */

/** On a screen that is too narrow for the widest mail, the page starts with the narrowest one. */
const NARROW = matchMedia("(max-width: 44rem)");

/**
 * Apply the controls now, and after each change.
 * @param {HTMLElement} root
 * @param {Result} result
 * @param {MailFrame} frame
 */
export function setUpViewControls(root, result, frame) {
  /** @param {string} name */
  const checked = (name) => findAs(root, `[name=${name}]:checked`, HTMLInputElement).value;
  const update = () => {
    const view = checked("view");
    result.setView(view);
    for (const name of [".widths", ".dark-label"]) find(root, name).hidden = view !== "mail";
    frame.setWidth(checked("width"));
    frame.setDarkMode(/** @type {DarkMode} */ (findAs(root, "[name=dark]", HTMLSelectElement).value));
  };
  for (const control of findAll(root, "[name=view], [name=width], [name=dark]")) {
    control.addEventListener("change", update);
  }
  if (NARROW.matches) findAs(root, "[name=width]", HTMLInputElement).checked = true;
  update();
}
