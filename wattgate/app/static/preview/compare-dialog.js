/** The dialog that compares two versions of a template, or one with the unsaved changes. */

import { find, findAs } from "../shared/dom.js";
import { diffView } from "./diff-view.js";
import { setOptions } from "./template-list.js";
import { versionLabel } from "./template-state.js";

/** @import { Template, TemplateContent } from "./templates.js" */

/** The value of the option that stands for the content of the page. */
const EDITED = "edited";

export class CompareDialog {
  /** @type {HTMLDialogElement} */
  #dialog;
  /** @type {Map<string, TemplateContent>} */
  #contents = new Map();

  /** @param {HTMLDialogElement} dialog */
  constructor(dialog) {
    this.#dialog = dialog;
    find(dialog, ".close").addEventListener("click", () => dialog.close());
    for (const name of ["from", "to"]) this.#select(name).addEventListener("change", () => this.#update());
  }

  /**
   * Open the dialog with the published version, or else the one before, and the given content.
   * @param {Template} template
   * @param {number} opened  The number of the open version.
   * @param {TemplateContent | null} edited  The content of the page if it differs from the open version.
   */
  open(template, opened, edited) {
    const { versions, published } = template;
    this.#contents = new Map(versions.map((version) => [String(version.version), version]));
    /** @type {[string, string][]} */
    const options = versions.map((version) => [String(version.version), versionLabel(template, version)]);
    setOptions(this.#select("from"), options);
    if (edited) this.#contents.set(EDITED, edited);
    setOptions(this.#select("to"), edited ? [[EDITED, "Unsaved changes"], ...options] : options);
    const before = versions.find(({ version }) => version < opened)?.version ?? opened;
    const base = published && (edited || published.version !== opened) ? published.version : edited ? opened : before;
    this.#select("from").value = String(base);
    this.#select("to").value = edited ? EDITED : String(opened);
    this.#update();
    this.#dialog.showModal();
  }

  close() {
    this.#dialog.close();
  }

  #update() {
    const [before, after] = ["from", "to"].map((name) => this.#contents.get(this.#select(name).value));
    if (before && after) find(this.#dialog, ".differences").replaceChildren(diffView(before, after));
  }

  /** @param {string} name */
  #select(name) {
    return findAs(this.#dialog, `[name=${name}]`, HTMLSelectElement);
  }
}
