/** The template that is open, among the others and among its versions: opened, saved, published and rolled back. */

import { DEFAULT_TEMPLATE } from "./default-template.js";
import { addTemplate, addVersion, loadTemplates, publishVersion, rollBackTemplate } from "./templates.js";

const NEW = "";

export class TemplateList {
  #root;
  #onOpen;
  #templates = [];
  #template = null;
  #version = null;

  /**
   * `onOpen` is called with a template, or null for a new one, and with what it says; before that, `mayLeave` says whether
   * what is open may be left.
   */
  constructor(root, { onOpen, mayLeave }) {
    this.#root = root;
    this.#onOpen = onOpen;
    this.#navigateOn("select.template", "change", mayLeave, (value) => this.select(value));
    this.#navigateOn("select.version", "change", mayLeave, (value) => this.#openVersion(Number(value)));
    this.#navigateOn(".new", "click", mayLeave, () => this.select(NEW));
  }

  get template() {
    return this.#template;
  }

  /** Load everything from the gateway, and open a template: the one named, or the first. */
  async load(token, templateId) {
    const loaded = await loadTemplates(token);
    this.#templates = loaded.templates;
    const labels = this.#templates.map((template) => [
      template.templateId,
      `${template.name} · ${template.channelType} · ${template.cultureCode}`,
    ]);
    setOptions(this.#find("select.template"), [...labels, [NEW, "New template"]]);
    return { ...loaded, open: () => this.select(templateId ?? this.#templates[0]?.templateId ?? NEW) };
  }

  select(templateId) {
    this.#template = this.#templates.find((template) => template.templateId === templateId) ?? null;
    const versions = this.#template?.versions ?? [];
    setOptions(this.#find("select.version"), versions.map((version) => [version.version, this.#versionLabel(version)]));
    this.#find("select.version").hidden = !this.#template;
    this.#find(".save").textContent = this.#template ? "Save" : "Add";
    this.#find(".publish").hidden = !this.#template;
    this.#find(".roll-back").hidden = !this.#template;
    this.#openVersion(versions[0]?.version);
  }

  /** Keep what is written: as a version that nobody gets yet, or as a new template. The id of the template. */
  async save(token, attributes, content) {
    if (!this.#template) return addTemplate(token, { ...attributes, ...content });
    await addVersion(token, this.#template.templateId, content);
    return this.#template.templateId;
  }

  /** Make what is written the version that is sent. */
  async publish(token, content) {
    const { templateId } = this.#template;
    const unchanged = Object.entries(content).every(([name, value]) => this.#version[name] === value);
    await publishVersion(token, templateId, unchanged ? this.#version.version : await addVersion(token, templateId, content));
    return templateId;
  }

  async rollBack(token) {
    await rollBackTemplate(token, this.#template.templateId);
    return this.#template.templateId;
  }

  #openVersion(number) {
    this.#version = this.#template?.versions.find(({ version }) => version === number) ?? null;
    this.#updateControls();
    this.#onOpen(this.#template, this.#version ?? DEFAULT_TEMPLATE);
  }

  /** Go elsewhere if what is open may be left; else the choice is taken back. */
  #navigateOn(selector, event, mayLeave, go) {
    const control = this.#find(selector);
    control.addEventListener(event, () => {
      if (mayLeave()) go(control.value);
      else this.#updateControls();
    });
  }

  /** Let the controls tell what is open. */
  #updateControls() {
    this.#find("select.template").value = this.#template?.templateId ?? NEW;
    this.#find("select.version").value = this.#version?.version;
  }

  #versionLabel({ version, publishedAt }) {
    if (version === this.#template.published.version) return `Version ${version}, published`;
    return `Version ${version}${publishedAt ? "" : ", draft"}`;
  }

  #find(selector) {
    return this.#root.querySelector(selector);
  }
}

export function setOptions(select, options) {
  select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
}
