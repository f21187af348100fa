/** A dialog with a title, a body and a button that closes it. */

import { copyText } from "../../shared/clipboard.js";
import { element } from "../../shared/dom.js";

let count = 0;

/**
 * Open a dialog. It is removed when it closes, and the focus returns to where it was.
 * @param {string} title
 * @param {(Node | string)[]} content
 * @param {string} testId
 * @returns {HTMLDialogElement}
 */
export function openModal(title, content, testId) {
  count += 1;
  const id = `modal-title-${count}`;
  const close = element("button", { type: "button", class: "quiet-button", "data-testid": "close-modal" }, "Close");
  const dialog = element(
    "dialog",
    { class: "ide-modal", "aria-labelledby": id, "data-testid": testId },
    element("header", { class: "modal-head" }, element("h2", { id }, title), close),
    element("div", { class: "modal-body" }, content),
  );
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Create a block of code with a button that copies it.
 * @param {string} code
 * @param {string} label
 * @param {(message: string, options?: { severity?: "error" | "info" }) => void} notify
 * @returns {HTMLElement}
 */
export function codeToCopy(code, label, notify) {
  const button = element("button", { type: "button", class: "quiet-button copy-code", "data-testid": "copy-code" }, "Copy");
  button.addEventListener("click", async () => {
    if (await copyText(code)) {
      button.textContent = "Copied";
      notify(`Copied: ${label}.`);
    } else {
      notify("The browser does not allow copying here. Select the text instead.", { severity: "error" });
    }
  });
  const block = element("pre", { tabindex: "0", "aria-label": label, "data-testid": "code-block" }, element("code", {}, code));
  return element("div", { class: "code-to-copy" }, block, button);
}
