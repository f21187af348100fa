/** Changes that are not saved, kept in this browser so that they survive a reload. */

/** @import { TemplateAttributes, TemplateContent } from "./templates.js" */

/**
 * Changes on top of a version. `name` to `cultureCode` are those of a new template.
 * @typedef {object} LocalDraft
 * @property {number} version  The version that was changed; 0 for a new template.
 * @property {number} savedAt  In milliseconds since 1970.
 * @property {TemplateContent} content
 * @property {TemplateAttributes} attributes
 */

const PREFIX = "wattgate.preview.draft.";
const NEW = "new";
/** Drafts that a browser keeps. Above it, the oldest is removed. */
export const MAX_DRAFTS = 10;

export class LocalDrafts {
  /** @type {Storage} */
  #storage;

  /** @param {Storage} storage */
  constructor(storage) {
    this.#storage = storage;
  }

  /**
   * Return the draft of a template, or null.
   * @param {string | undefined} templateId  Undefined for a new template.
   * @returns {LocalDraft | null}
   */
  read(templateId) {
    try {
      const draft = JSON.parse(this.#storage.getItem(key(templateId)) ?? "null");
      return isDraft(draft) ? draft : null;
    } catch {
      return null;
    }
  }

  /**
   * Keep the draft of a template. A browser without space for it keeps none.
   * @param {string | undefined} templateId
   * @param {LocalDraft} draft
   */
  write(templateId, draft) {
    try {
      this.#storage.setItem(key(templateId), JSON.stringify(draft));
      this.#removeOldest();
    } catch {
      this.remove(templateId);
    }
  }

  /** @param {string | undefined} templateId */
  remove(templateId) {
    this.#storage.removeItem(key(templateId));
  }

  #removeOldest() {
    const kept = Object.keys(this.#storage).filter((name) => name.startsWith(PREFIX));
    /** @param {string} name */
    const age = (name) => this.read(name.slice(PREFIX.length))?.savedAt ?? 0;
    kept.sort((left, right) => age(right) - age(left));
    for (const name of kept.slice(MAX_DRAFTS)) this.#storage.removeItem(name);
  }
}

/** @param {string | undefined} templateId */
function key(templateId) {
  return `${PREFIX}${templateId ?? NEW}`;
}

/**
 * @param {any} value
 * @returns {value is LocalDraft}
 */
function isDraft(value) {
  return (
    typeof value?.version === "number" &&
    typeof value.savedAt === "number" &&
    typeof value.content?.htmlTemplate === "string" &&
    typeof value.content.subject === "string" &&
    typeof value.content.preheader === "string" &&
    typeof value.attributes?.name === "string"
  );
}
