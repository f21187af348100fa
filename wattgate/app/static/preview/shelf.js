/** The template that is open, among the others and among its versions: opened, saved, published and rolled back. */

import { STARTER } from "./starter.js";
import { add, load, publish, rollBack, save } from "./templates.js";

const NEW = "";

export class Shelf {
  #root;
  #open;
  #templates = [];
  #template = null;
  #version = null;

  /**
   * `open` is called with a template, or null for a new one, and with what it says; before that, `leave` says whether
   * what is open may be left.
   */
  constructor(root, { open, leave }) {
    this.#root = root;
    this.#open = open;
    this.#when("select.template", "change", leave, (chosen) => this.choose(chosen));
    this.#when("select.version", "change", leave, (chosen) => this.#turnTo(Number(chosen)));
    this.#when(".new", "click", leave, () => this.choose(NEW));
  }

  get template() {
    return this.#template;
  }

  /** Load everything from the gateway, and open a template: the one named, or the first. */
  async load(token, templateId) {
    const known = await load(token);
    this.#templates = known.templates;
    const named = this.#templates.map((one) => [
      one.templateId,
      `${one.name} · ${one.channelType} · ${one.cultureCode}`,
    ]);
    options(this.#one("select.template"), [...named, [NEW, "New template"]]);
    return { ...known, open: () => this.choose(templateId ?? this.#templates[0]?.templateId ?? NEW) };
  }

  choose(templateId) {
    this.#template = this.#templates.find((one) => one.templateId === templateId) ?? null;
    const versions = this.#template?.versions ?? [];
    options(this.#one("select.version"), versions.map((one) => [one.version, this.#named(one)]));
    this.#one("select.version").hidden = !this.#template;
    this.#one(".save").textContent = this.#template ? "Save" : "Add";
    this.#one(".publish").hidden = !this.#template;
    this.#one(".roll-back").hidden = !this.#template;
    this.#turnTo(versions[0]?.version);
  }

  /** Keep what is written: as a version that nobody gets yet, or as a new template. The id of the template. */
  async save(token, belonging, said) {
    if (!this.#template) return add(token, { ...belonging, ...said });
    await save(token, this.#template.templateId, said);
    return this.#template.templateId;
  }

  /** Make what is written the version that is sent. */
  async publish(token, said) {
    const { templateId } = this.#template;
    const kept = Object.entries(said).every(([name, value]) => this.#version[name] === value);
    await publish(token, templateId, kept ? this.#version.version : await save(token, templateId, said));
    return templateId;
  }

  async rollBack(token) {
    await rollBack(token, this.#template.templateId);
    return this.#template.templateId;
  }

  #turnTo(number) {
    this.#version = this.#template?.versions.find((one) => one.version === number) ?? null;
    this.#show();
    this.#open(this.#template, this.#version ?? STARTER);
  }

  /** Go elsewhere if what is open may be left; else the choice is taken back. */
  #when(selector, event, leave, go) {
    const control = this.#one(selector);
    control.addEventListener(event, () => {
      if (leave()) go(control.value);
      else this.#show();
    });
  }

  /** Let the controls tell what is open. */
  #show() {
    this.#one("select.template").value = this.#template?.templateId ?? NEW;
    this.#one("select.version").value = this.#version?.version;
  }

  #named({ version, publishedAt }) {
    if (version === this.#template.published.version) return `Version ${version}, published`;
    return `Version ${version}${publishedAt ? "" : ", draft"}`;
  }

  #one(selector) {
    return this.#root.querySelector(selector);
  }
}

export function options(select, offered) {
  select.replaceChildren(...offered.map(([value, text]) => new Option(text, value)));
}
