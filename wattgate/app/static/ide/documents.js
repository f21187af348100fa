/** The open documents: the tabs, which one is active, and their copy in the browser's storage. */

import { redact } from "./secrets.js";

/**
 * A document with the texts of its editors. `variables` is JSON, `headers` has a line `name: value` for each header.
 * @typedef {object} IdeDocument
 * @property {string} id
 * @property {string} title  Empty if the operation names the document.
 * @property {string} text
 * @property {string} variables
 * @property {string} headers
 * @property {string | null} operationName  The chosen operation.
 */

/**
 * Texts of a document that is opened.
 * @typedef {{ title?: string, text: string, variables?: string, headers?: string }} NewDocument
 */

/** @typedef {Pick<Storage, "getItem" | "setItem" | "removeItem">} TextStorage */

export const STORAGE_KEY = "wattgate.ide.documents";
export const MAX_DOCUMENTS = 30;
/** Characters above which a document is not stored, so that the storage stays small. */
export const MAX_STORED = 200_000;

/** Milliseconds after the last key at which the documents are stored. */
const STORE_AFTER = 400;

export class Documents {
  /** @type {IdeDocument[]} */
  #list = [];
  #active = 0;
  #created = 0;
  #timer = 0;
  /** @type {TextStorage} */
  #storage;

  /** @param {TextStorage} storage */
  constructor(storage) {
    this.#storage = storage;
    const stored = read(storage);
    this.#list = stored.list.map((one) => ({ ...one, id: this.#nextId() }));
    if (!this.#list.length) this.#list.push(this.#create({ text: "" }));
    this.#active = Math.min(stored.active, this.#list.length - 1);
  }

  get list() {
    return [...this.#list];
  }

  get active() {
    return this.#list[this.#active];
  }

  /**
   * Open a document, or activate the one that has the same texts. An empty active document is replaced.
   * @param {NewDocument} wanted
   * @returns {IdeDocument}
   */
  open({ title = "", text, variables = "", headers = "" }) {
    const same = this.#list.findIndex((one) => {
      return one.text === text && one.variables === variables && one.headers === headers;
    });
    if (same >= 0) {
      this.#active = same;
    } else {
      if (isEmpty(this.active)) this.#list.splice(this.#active, 1);
      else if (this.#list.length >= MAX_DOCUMENTS) this.#list.shift();
      this.#list.push(this.#create({ title, text, variables, headers }));
      this.#active = this.#list.length - 1;
    }
    this.store();
    return this.active;
  }

  /** Open an empty document. */
  openEmpty() {
    if (!isEmpty(this.active)) this.open({ text: "" });
    return this.active;
  }

  /** @param {string} id */
  activate(id) {
    this.#active = Math.max(0, this.#list.findIndex((one) => one.id === id));
    this.store();
  }

  /** @param {string} id */
  close(id) {
    const index = this.#list.findIndex((one) => one.id === id);
    if (index < 0) return;
    this.#list.splice(index, 1);
    if (!this.#list.length) this.#list.push(this.#create({ text: "" }));
    if (index < this.#active || this.#active >= this.#list.length) this.#active = Math.max(0, this.#active - 1);
    this.store();
  }

  /** Remove the secrets of all documents, from the editors too. */
  forgetSecrets() {
    for (const one of this.#list) Object.assign(one, redact(one));
    this.store();
  }

  /** Store the documents after a pause in the typing. */
  storeSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.store(), STORE_AFTER);
  }

  /** Write the documents to the storage, without secrets. A full storage is ignored. */
  store() {
    clearTimeout(this.#timer);
    const list = this.#list.filter(({ text, variables }) => text.length + variables.length <= MAX_STORED);
    const stored = list.map((one) => ({ title: one.title, ...redact(one), operationName: one.operationName }));
    try {
      this.#storage.setItem(STORAGE_KEY, JSON.stringify({ list: stored, active: Math.max(0, list.indexOf(this.active)) }));
    } catch {
      this.#storage.removeItem(STORAGE_KEY);
    }
  }

  /**
   * @param {NewDocument} wanted
   * @returns {IdeDocument}
   */
  #create({ title = "", text, variables = "", headers = "" }) {
    return { id: this.#nextId(), title, text, variables, headers, operationName: null };
  }

  #nextId() {
    this.#created += 1;
    return `document-${this.#created}`;
  }
}

/** @param {IdeDocument} document */
function isEmpty({ text, variables, headers }) {
  return !text.trim() && !variables.trim() && !headers.trim();
}

/**
 * @param {TextStorage} storage
 * @returns {{ list: Omit<IdeDocument, "id">[], active: number }}
 */
function read(storage) {
  try {
    const { list, active } = JSON.parse(storage.getItem(STORAGE_KEY) ?? "");
    const texts = list.slice(0, MAX_DOCUMENTS).map((/** @type {any} */ one) => ({
      title: String(one.title ?? ""),
      text: String(one.text ?? ""),
      variables: String(one.variables ?? ""),
      headers: String(one.headers ?? ""),
      operationName: one.operationName === null ? null : String(one.operationName ?? ""),
    }));
    return { list: texts, active: Number(active) || 0 };
  } catch {
    return { list: [], active: 0 };
  }
}
