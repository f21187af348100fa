/** Publishes, rolls back, archives and restores the open template. It asks first, and offers to undo each action. */

import { element } from "../shared/dom.js";
import { summariseChanges } from "./diff.js";
import { diffView } from "./diff-view.js";
import { isSameContent } from "./template-list.js";
import { describeAudience, findDuplicates } from "./template-state.js";
import {
  addVersion, archiveTemplate, publishVersion, restoreTemplate, rollBackTemplate, withdrawTemplate,
} from "./templates.js";

/** @import { Child } from "../shared/dom.js" */
/** @import { ConfirmDialog } from "../shared/confirm-dialog.js" */
/** @import { NoticeBar } from "./notice-bar.js" */
/** @import { TemplateForm } from "./template-form.js" */
/** @import { TemplateList } from "./template-list.js" */
/** @import { Template, TemplateContent, TemplateReport } from "./templates.js" */

/**
 * @typedef {object} PublicationHost
 * @property {TemplateList} list
 * @property {TemplateForm} form
 * @property {ConfirmDialog} dialog
 * @property {NoticeBar} notice
 * @property {() => string} token
 * @property {() => TemplateReport | null} report  The report on the content of the page.
 * @property {(templateId: string, isSaved?: boolean) => Promise<void>} reload
 *   Load the templates again and open one. `isSaved` says that the page has no other changes.
 * @property {(action: () => Promise<void>) => void} run  Run an action, and show its error.
 */

export class Publication {
  /** @type {PublicationHost} */
  #host;

  /** @param {PublicationHost} host */
  constructor(host) {
    this.#host = host;
  }

  /** Publish the content of the page. If it differs from the open version, save it as a version first. */
  async publish() {
    const { list, form, token } = this.#host;
    const template = this.#existing();
    const { content } = form;
    const isSaved = list.version !== null && isSameContent(list.version, content);
    const number = isSaved && list.version ? list.version.version : template.versions[0].version + 1;
    const notes = isSaved ? [] : [`Your changes are saved as version ${number} first.`];
    const errors = this.#host.report()?.findings.filter(({ severity }) => severity === "ERROR").length ?? 0;
    const confirmed = await this.#ask(template, number, content, notes, {
      title: `Publish version ${number}?`,
      action: "Publish",
      blocked: errors ? `The report has ${errors === 1 ? "an error" : `${errors} errors`}. Correct it first.` : null,
    });
    if (!confirmed) return;
    const saved = isSaved ? number : await addVersion(token(), template.templateId, content);
    try {
      await publishVersion(token(), template.templateId, saved);
    } finally {
      await this.#host.reload(template.templateId, true);
    }
    this.#offerUndo(template, `Version ${saved} is published.${this.#unusedNote(template)}`);
  }

  /** Publish the version again that was published before the current one. */
  async rollBack() {
    const template = this.#existing();
    const former = this.#host.list.formerVersion();
    if (!former) return;
    const confirmed = await this.#ask(template, former.version, former, [], {
      title: `Roll back to version ${former.version}?`,
      action: "Roll back",
    });
    if (!confirmed) return;
    await rollBackTemplate(this.#host.token(), template.templateId, former.version);
    await this.#host.reload(template.templateId);
    this.#offerUndo(template, `Version ${former.version} is published again.`);
  }

  /** Archive the template. */
  async archive() {
    const { dialog, list, token } = this.#host;
    const template = this.#existing();
    const [next] = findDuplicates(template, list.templates, template.templateId);
    const instead = next
      ? `Alerts use “${next.name}” instead.`
      : "Alerts use the template of the next culture instead, or else the name of the alert type as plain text.";
    const confirmed = await dialog.ask({
      title: `Archive “${template.name}”?`,
      details: [
        element("p", {}, `The template is for ${describeAudience(template, this.#host.form.alertTypes)}.`),
        template.published ? element("p", {}, instead) : null,
        element("p", {}, "The list no longer shows it, and links to its previews stop working. You can restore it."),
      ],
      action: "Archive",
    });
    if (!confirmed) return;
    await archiveTemplate(token(), template.templateId);
    await this.#host.reload(template.templateId);
    this.#offerUndo(template, `“${template.name}” is archived.`);
  }

  /** Restore the archived template. It stays unpublished. */
  async restore() {
    const template = this.#existing();
    await restoreTemplate(this.#host.token(), template.templateId);
    await this.#host.reload(template.templateId);
    this.#host.notice.show(`“${template.name}” is restored as a draft. Publish a version to use it.`);
  }

  /**
   * Ask whether a version shall be published: say what it replaces, for whom, and what differs.
   * @param {Template} template
   * @param {number} number
   * @param {TemplateContent} content
   * @param {string[]} notes
   * @param {{ title: string, action: string, blocked?: string | null }} question
   */
  #ask(template, number, content, notes, question) {
    const { dialog, form } = this.#host;
    const { published } = template;
    const before = template.versions.find(({ version }) => version === published?.version);
    const changes = before ? summariseChanges(before, content) : "";
    const replaced = published
      ? `From then on it is sent instead of version ${published.version}.`
      : "No version is published now. From then on this one is sent.";
    /** @type {Child[]} */
    const difference = !before
      ? []
      : changes
        ? [
            element("p", {}, `It changes ${changes}.`),
            element("details", {}, element("summary", {}, "Show the changes"), diffView(before, content)),
          ]
        : [element("p", {}, "Both versions have the same content.")];
    return dialog.ask({
      ...question,
      details: [
        element("p", {}, `Version ${number} of “${template.name}” is for ${describeAudience(template, form.alertTypes)}.`),
        element("p", {}, `${replaced}${this.#unusedNote(template)}`),
        notes.map((note) => element("p", {}, note)),
        difference,
      ],
    });
  }

  /**
   * Return a warning if alerts use another template although this one is published, or an empty text.
   * @param {Template} template
   */
  #unusedNote(template) {
    const { templates } = this.#host.list;
    const [newest] = findDuplicates(template, templates, template.templateId);
    const position = templates.findIndex(({ templateId }) => templateId === template.templateId);
    return newest && templates.indexOf(newest) > position ? ` But alerts use “${newest.name}”, because it is newer.` : "";
  }

  /**
   * Show what happened, with a button that restores the published version.
   * @param {Template} before  The template as it was before the action.
   * @param {string} text
   */
  #offerUndo(before, text) {
    this.#host.notice.show(text, { label: "Undo", run: () => this.#host.run(() => this.#undo(before)) });
  }

  /** @param {Template} before */
  async #undo({ templateId, published }) {
    const token = this.#host.token();
    const { template } = this.#host.list;
    if (template?.templateId === templateId && template.archivedAt) await restoreTemplate(token, templateId);
    if (published) await rollBackTemplate(token, templateId, published.version);
    else await withdrawTemplate(token, templateId);
    await this.#host.reload(templateId);
    const state = published ? `Version ${published.version} is published, as before.` : "No version is published, as before.";
    this.#host.notice.show(`Undone. ${state}`);
  }

  #existing() {
    const { template } = this.#host.list;
    if (!template) throw new Error("Only a saved template has versions");
    return template;
  }
}
