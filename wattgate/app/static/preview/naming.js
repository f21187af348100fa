/** Other names and other cultures of a template: rename it, and begin its translation. */

import { element } from "../shared/dom.js";
import { renameTemplate } from "./templates.js";

/** @import { ConfirmDialog } from "../shared/confirm-dialog.js" */
/** @import { LocalDrafts } from "./local-drafts.js" */
/** @import { NoticeBar } from "./notice-bar.js" */
/** @import { TemplateForm } from "./template-form.js" */
/** @import { TemplateList } from "./template-list.js" */

/**
 * @typedef {object} NamingHost
 * @property {TemplateList} list
 * @property {TemplateForm} form
 * @property {ConfirmDialog} dialog
 * @property {NoticeBar} notice
 * @property {LocalDrafts} drafts
 * @property {() => string} token
 * @property {(templateId: string) => Promise<void>} reload
 * @property {() => void} edited  Call it after a change of the form.
 */

export class Naming {
  /** @type {NamingHost} */
  #host;

  /** @param {NamingHost} host */
  constructor(host) {
    this.#host = host;
  }

  /** Ask for another name of the open template. Its changes that are not saved stay. */
  async rename() {
    const { list, dialog, notice } = this.#host;
    const { template } = list;
    if (!template) return;
    const field = element("input", { type: "text", value: template.name, required: true, "data-testid": "new-name" });
    const details = [element("label", {}, "Name", field)];
    const confirmed = await dialog.ask({ title: "Rename the template", details, action: "Rename" });
    const name = field instanceof HTMLInputElement ? field.value.trim() : "";
    if (!confirmed || !name || name === template.name) return;
    await renameTemplate(this.#host.token(), template.templateId, name);
    await this.#host.reload(template.templateId);
    notice.show(`The template is called “${name}”.`);
  }

  /** Open a new template for another culture, with the text of the open one. */
  async addTranslation() {
    const { list, form, notice } = this.#host;
    const { template } = list;
    if (!template || !(await this.#mayReplaceNew())) return;
    const { attributes, content } = form;
    list.select("");
    form.show(null, content, { ...attributes, cultureCode: "" });
    notice.show(`This is the text of “${template.name}” in ${template.cultureCode}. Enter the culture of the translation.`);
    this.#host.edited();
    form.field("culture").focus();
  }

  /** Return whether the changes of a new template that is not saved may be replaced. */
  async #mayReplaceNew() {
    if (!this.#host.drafts.read(undefined)) return true;
    return this.#host.dialog.ask({
      title: "Replace your new template?",
      details: ["You have started a new template that is not saved."],
      action: "Replace",
      cancel: "Keep it",
    });
  }
}
