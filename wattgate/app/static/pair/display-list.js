/** The list of paired displays: a user renames them, or revokes their access. */

import { text } from "../display/texts.js";
import { element, find, findAll, findAs } from "../shared/dom.js";
import { formatLastSeen } from "./wording.js";

/** @import { OwnHome, PairedDisplay } from "./requests.js" */

/** The longest name that the gateway takes. */
export const MAX_NAME_LENGTH = 100;

/**
 * @typedef {object} ListHandlers
 * @property {(display: PairedDisplay, name: string) => void} onRename
 * @property {(display: PairedDisplay) => void} onRevoke
 * @property {() => number} now  Milliseconds since 1970.
 */

export class DisplayList {
  /** @type {HTMLElement} */
  #root;
  /** @type {ListHandlers} */
  #handlers;

  /**
   * @param {HTMLElement} root
   * @param {ListHandlers} handlers
   */
  constructor(root, handlers) {
    this.#root = root;
    this.#handlers = handlers;
  }

  /**
   * Show displays. An open form for a name stays open, and the focus stays on its button.
   * @param {PairedDisplay[]} displays
   * @param {OwnHome[]} homes
   */
  show(displays, homes) {
    if (this.#root.querySelector(".rename-form")) return;
    find(this.#root, ".empty").hidden = displays.length > 0;
    const focused = document.activeElement;
    const id = focused?.closest("li")?.dataset.displayId;
    find(this.#root, "ul").replaceChildren(...displays.map((display) => this.#row(display, homes)));
    if (id) this.focus(id, focused?.className);
  }

  /** Close an open form for a name, so that the list can be drawn again. */
  closeForm() {
    this.#root.querySelector(".rename-form")?.remove();
  }

  /**
   * Move the focus to a button of a display, or to the heading of the list if the display is no longer in it.
   * @param {string} displayId
   * @param {string} [button]  Its class.
   */
  focus(displayId, button = "rename") {
    const row = findAll(this.#root, "li").find(({ dataset }) => dataset.displayId === displayId);
    (row ? find(row, `.${button}`) : find(this.#root, "h2")).focus();
  }

  /**
   * @param {PairedDisplay} display
   * @param {OwnHome[]} homes
   */
  #row(display, homes) {
    const { displayId, name, homeId, lastSeenAt } = display;
    const home = homes.find((one) => one.homeId === homeId)?.name ?? null;
    const rename = actionButton("rename", text("pair.rename"), text("pair.renameOf", { name }));
    const revoke = actionButton("revoke", text("pair.revoke"), text("pair.revokeOf", { name }));
    const row = element(
      "li",
      { "data-display-id": displayId, "data-testid": "paired-display" },
      element(
        "div",
        { class: "about" },
        element("strong", {}, name),
        home && element("span", {}, home),
        element("span", {}, formatLastSeen(lastSeenAt, this.#handlers.now())),
      ),
      element("div", { class: "row-actions" }, rename, revoke),
    );
    rename.addEventListener("click", () => this.#openForm(row, rename, display));
    revoke.addEventListener("click", () => this.#handlers.onRevoke(display));
    return row;
  }

  /**
   * Show the form for another name in place of the row's buttons.
   * @param {HTMLElement} row
   * @param {HTMLElement} opener
   * @param {PairedDisplay} display
   */
  #openForm(row, opener, display) {
    const label = text("pair.newName");
    const form = element(
      "form",
      { class: "rename-form", "data-testid": "rename-form" },
      element("input", { name: "name", "aria-label": label, required: true, maxlength: `${MAX_NAME_LENGTH}` }),
      element("button", { type: "submit" }, text("pair.save")),
      element("button", { type: "button", class: "cancel" }, text("pair.cancel")),
    );
    const actions = find(row, ".row-actions");
    const close = () => {
      form.remove();
      actions.hidden = false;
      opener.focus();
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const name = input.value.trim();
      if (name && name !== display.name) this.#handlers.onRename(display, name);
      else close();
    });
    form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") close();
    });
    find(form, ".cancel").addEventListener("click", close);
    actions.hidden = true;
    row.append(form);
    const input = findAs(form, "input", HTMLInputElement);
    input.value = display.name;
    input.select();
  }
}

/**
 * @param {string} name
 * @param {string} words
 * @param {string} label  What the button does to which display.
 */
function actionButton(name, words, label) {
  const attributes = { type: "button", class: name, "aria-label": label, "data-testid": name };
  return element("button", attributes, words);
}
