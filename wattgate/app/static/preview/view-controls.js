/** The controls of the result: which panel is shown, and the width, dark mode and images of the mail. */

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
    for (const name of [".widths", ".dark-label", ".images"]) find(root, name).hidden = view !== "mail";
    frame.setWidth(checked("width"));
    frame.setImages(findAs(root, "[name=images]", HTMLInputElement).checked);
    frame.setDarkMode(/** @type {DarkMode} */ (findAs(root, "[name=dark]", HTMLSelectElement).value));
  };
  for (const control of findAll(root, "[name=view], [name=width], [name=dark], [name=images]")) {
    control.addEventListener("change", update);
  }
  if (NARROW.matches) findAs(root, "[name=width]", HTMLInputElement).checked = true;
  update();
}
