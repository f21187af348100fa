/** The templates and their versions: selects one to edit, and saves, publishes and rolls back. */

import { find, findAs } from "../shared/dom.js";
import { DEFAULT_CONTENT } from "./default-template.js";
import { addTemplate, addVersion, loadTemplates, publishVersion, rollBackTemplate } from "./templates.js";

/** @import { LoadedTemplates, Template, TemplateAttributes, TemplateContent, TemplateVersion } from "./templates.js" */

/**
 * @typedef {object} TemplateListHandlers
 * @property {(template: Template | null, content: TemplateContent) => void} onOpen
 *   Called with the selected template, or null for a new one, and with the content to edit.
 * @property {() => boolean} mayLeave  Called before the user selects something else: false keeps the open template.
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
  /** @type {Template[]} */
  #templates = [];
  /** @type {Template | null} */
  #template = null;
  /** @type {TemplateVersion | null} */
  #version = null;

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
  }

  /**
   * Load the templates and fill the list. Call `open` of the result to open a template: the given one, else the first.
   * @param {string} token
   * @param {string} [templateId]
   * @returns {Promise<LoadedTemplates & { open: () => void }>}
   */
  async load(token, templateId) {
    const loaded = await loadTemplates(token);
    this.#templates = loaded.templates;
    /** @type {[string, string][]} */
    const labels = this.#templates.map((template) => [
      template.templateId,
      `${template.name} · ${template.channelType} · ${template.cultureCode}`,
    ]);
    setOptions(this.#templateSelect, [...labels, [NEW, "New template"]]);
    return { ...loaded, open: () => this.select(templateId ?? this.#templates[0]?.templateId ?? NEW) };
  }

  /**
   * Open the newest version of a template, or the content of a new one.
   * @param {string} templateId
   */
  select(templateId) {
    this.#template = this.#templates.find((template) => template.templateId === templateId) ?? null;
    const versions = this.#template?.versions ?? [];
    setOptions(this.#versionSelect, versions.map((version) => [String(version.version), this.#label(version)]));
    this.#versionSelect.hidden = !this.#template;
    find(this.#root, ".save").textContent = this.#template ? "Save" : "Add";
    find(this.#root, ".publish").hidden = !this.#template;
    find(this.#root, ".roll-back").hidden = !this.#template;
    this.#openVersion(versions[0]?.version);
  }

  /**
   * Save the content as a draft version, or as a new template. Return the id of the template.
   * @param {string} token
   * @param {TemplateAttributes} attributes  Of a new template.
   * @param {TemplateContent} content
   * @returns {Promise<string>}
   */
  async save(token, attributes, content) {
    if (!this.#template) return addTemplate(token, { ...attributes, ...content });
    await addVersion(token, this.#template.templateId, content);
    return this.#template.templateId;
  }

  /**
   * Publish the content. If it differs from the open version, add it as a version first. Return the template's id.
   * @param {string} token
   * @param {TemplateContent} content
   * @returns {Promise<string>}
   */
  async publish(token, content) {
    const { templateId } = this.#existing();
    const opened = this.#version;
    const version = opened && isSame(opened, content) ? opened.version : await addVersion(token, templateId, content);
    await publishVersion(token, templateId, version);
    return templateId;
  }

  /**
   * Publish the version that was published before. Return the template's id.
   * @param {string} token
   * @returns {Promise<string>}
   */
  async rollBack(token) {
    const { templateId } = this.#existing();
    await rollBackTemplate(token, templateId);
    return templateId;
  }

  #existing() {
    if (!this.#template) throw new Error("Only a saved template has versions");
    return this.#template;
  }

  /** @param {number | undefined} number */
  #openVersion(number) {
    this.#version = this.#template?.versions.find(({ version }) => version === number) ?? null;
    this.#updateControls();
    this.#handlers.onOpen(this.#template, this.#version ?? DEFAULT_CONTENT);
  }

  /**
   * Navigate on an event, unless the user stays: then restore the controls.
   * @param {HTMLElement} control
   * @param {string} event
   * @param {() => void} navigate
   */
  #navigateOn(control, event, navigate) {
    control.addEventListener(event, () => {
      if (this.#handlers.mayLeave()) navigate();
      else this.#updateControls();
    });
  }

  #updateControls() {
    this.#templateSelect.value = this.#template?.templateId ?? NEW;
    this.#versionSelect.value = String(this.#version?.version);
  }

  /** @param {TemplateVersion} version */
  #label({ version, publishedAt }) {
    if (version === this.#template?.published.version) return `Version ${version}, published`;
    return `Version ${version}${publishedAt ? "" : ", draft"}`;
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
 * @param {TemplateVersion} version
 * @param {TemplateContent} content
 */
function isSame(version, { subject, preheader, htmlTemplate, text }) {
  return (
    version.subject === subject &&
    version.preheader === preheader &&
    version.htmlTemplate === htmlTemplate &&
    version.text === text
  );
}
