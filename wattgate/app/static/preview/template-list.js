/** The templates and their versions: shows which one is open, and selects another one. */

import { find, findAs } from "../shared/dom.js";
import { DEFAULT_CONTENT } from "./default-template.js";
import { templateLabel, versionLabel } from "./template-state.js";
import { loadTemplates } from "./templates.js";

/** @import { LoadedTemplates, Template, TemplateContent, TemplateVersion } from "./templates.js" */

/**
 * @typedef {object} TemplateListHandlers
 * @property {() => void} onOpen  Called when another template or version is open.
 * @property {() => Promise<boolean>} mayLeave
 *   Called before the user selects something else: false keeps the open template.
 */

/** The value of the option that creates a template. */
const NEW = "";

export class TemplateList {
  /** @type {HTMLElement} */
  #root;
  /** @type {TemplateListHandlers} */
  #handlers;
  /** @type {HTMLSelectElement} */
  #templateSelect;
  /** @type {HTMLSelectElement} */
  #versionSelect;
  /**
   * All templates, in the order of their creation.
   * @type {Template[]}
   */
  templates = [];
  /**
   * The open template; null for a new one.
   * @type {Template | null}
   */
  template = null;
  /**
   * The open version; null for a new template.
   * @type {TemplateVersion | null}
   */
  version = null;

  /**
   * @param {HTMLElement} root
   * @param {TemplateListHandlers} handlers
   */
  constructor(root, handlers) {
    this.#root = root;
    this.#handlers = handlers;
    this.#templateSelect = findAs(root, "select.template", HTMLSelectElement);
    this.#versionSelect = findAs(root, "select.version", HTMLSelectElement);
    this.#navigateOn(this.#templateSelect, "change", () => this.select(this.#templateSelect.value));
    this.#navigateOn(this.#versionSelect, "change", () => this.#openVersion(Number(this.#versionSelect.value)));
    this.#navigateOn(find(root, ".new"), "click", () => this.select(NEW));
    this.#archiveSwitch.addEventListener("change", () => this.#showTemplates());
  }

  /** The saved content of the open version, or the content of a new template. */
  get content() {
    return this.version ?? DEFAULT_CONTENT;
  }

  /**
   * Load the templates and fill the list. Call `open` of the result to open a template: the given one, else the first.
   * @param {string} token
   * @param {string} [templateId]  Empty for a new template.
   * @returns {Promise<LoadedTemplates & { open: () => void }>}
   */
  async load(token, templateId) {
    const loaded = await loadTemplates(token);
    this.templates = loaded.templates;
    const first = this.templates.find(({ archivedAt }) => !archivedAt)?.templateId ?? NEW;
    return { ...loaded, open: () => this.select(templateId ?? first) };
  }

  /**
   * Open the newest version of a template, or the content of a new one.
   * @param {string} templateId
   */
  select(templateId) {
    this.template = this.templates.find((template) => template.templateId === templateId) ?? null;
    this.#showTemplates();
    const { template } = this;
    const versions = template?.versions ?? [];
    setOptions(
      this.#versionSelect,
      versions.map((version) => [String(version.version), template ? versionLabel(template, version) : ""]),
    );
    this.#versionSelect.hidden = !template;
    this.#openVersion(versions[0]?.version);
  }

  /** Return the version that a roll back publishes again, or null. */
  formerVersion() {
    const current = this.template?.published?.version;
    if (current === undefined) return null;
    return this.template?.versions.find(({ version, publishedAt }) => version < current && publishedAt) ?? null;
  }

  /** @param {number | undefined} number */
  #openVersion(number) {
    this.version = this.template?.versions.find(({ version }) => version === number) ?? null;
    this.#updateControls();
    this.#handlers.onOpen();
  }

  /** Fill the list: without archived templates, unless the user shows them or one is open. */
  #showTemplates() {
    const archived = this.templates.filter(({ archivedAt }) => archivedAt);
    const shown = this.templates.filter((template) => {
      return !template.archivedAt || template === this.template || this.#archiveSwitch.checked;
    });
    /** @type {[string, string][]} */
    const labels = shown.map((template) => [template.templateId, templateLabel(template)]);
    setOptions(this.#templateSelect, [...labels, [NEW, "New template"]]);
    find(this.#root, ".archived-count").textContent = `Show archived (${archived.length})`;
    this.#updateControls();
  }

  get #archiveSwitch() {
    return findAs(this.#root, "[name=showArchived]", HTMLInputElement);
  }

  /**
   * Navigate on an event, unless the user stays: then restore the controls.
   * @param {HTMLElement} control
   * @param {string} event
   * @param {() => void} navigate
   */
  #navigateOn(control, event, navigate) {
    control.addEventListener(event, async () => {
      const selected = [this.#templateSelect.value, this.#versionSelect.value];
      const mayLeave = await this.#handlers.mayLeave();
      if (!mayLeave) {
        this.#updateControls();
        return;
      }
      [this.#templateSelect.value, this.#versionSelect.value] = selected;
      navigate();
    });
  }

  #updateControls() {
    this.#templateSelect.value = this.template?.templateId ?? NEW;
    this.#versionSelect.value = String(this.version?.version);
  }
}

/**
 * Replace the options of a select.
 * @param {HTMLSelectElement} select
 * @param {[value: string, text: string][]} options
 */
export function setOptions(select, options) {
  select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
}

/**
 * Return whether two contents are the same. An empty text is the same as none.
 * @param {TemplateContent} left
 * @param {TemplateContent} right
 */
export function isSameContent(left, right) {
  return (
    left.subject === right.subject &&
    left.preheader === right.preheader &&
    left.htmlTemplate === right.htmlTemplate &&
    (left.text || null) === (right.text || null)
  );
}
