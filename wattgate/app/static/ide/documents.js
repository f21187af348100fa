/**
 * The open documents: the tabs, which one is active, and their copy in the browser's storage. Windows of the browser share
 * the documents: each takes over from the storage what another has opened, changed or closed. Each has its own active one.
 */

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
 * @property {number} changedAt  Milliseconds since 1970. The newest version counts in all windows.
 */

/**
 * Texts of a document that is opened.
 * @typedef {{ title?: string, text: string, variables?: string, headers?: string }} NewDocument
 */

/** @typedef {Pick<Storage, "getItem" | "setItem" | "removeItem">} TextStorage */

export const STORAGE_KEY = "wattgate.ide.documents";
const ACTIVE_KEY = "wattgate.ide.active";
export const MAX_DOCUMENTS = 30;
/** Characters above which a document is not stored, so that the storage stays small. */
const MAX_STORED = 200_000;

/** Milliseconds after the last key at which the documents are stored. */
const STORE_AFTER = 400;

export class Documents {
  /** Called after documents have come from another window. */
  onMerge = () => {};
  /**
   * Called with a document that is closed because there are too many.
   * @type {(closed: IdeDocument) => void}
   */
  onOverflow = () => {};
  /** @type {IdeDocument[]} */
  #list = [];
  #active = 0;
  #timer = 0;
  #storage;
  #windowStorage;
  /**
   * The documents that the storage had last, by ID, with the times of their changes.
   * @type {Map<string, number>}
   */
  #known = new Map();

  /**
   * @param {TextStorage} storage  Shared by the windows of the browser.
   * @param {TextStorage} [windowStorage]  Of this window.
   */
  constructor(storage, windowStorage = storage) {
    this.#storage = storage;
    this.#windowStorage = windowStorage;
    const stored = read(storage);
    this.#list = stored?.list ?? [];
    this.#remember(this.#list);
    if (!this.#list.length) this.#list.push(create({ text: "" }));
    const indexes = [windowStorage.getItem(ACTIVE_KEY), stored?.active].map((wanted) => this.#list.findIndex(({ id }) => id === wanted));
    this.#active = indexes.find((index) => index >= 0) ?? 0;
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
      else if (this.#list.length >= MAX_DOCUMENTS) this.onOverflow(this.#list.splice(this.#active === 0 ? 1 : 0, 1)[0]);
      this.#list.push(create({ title, text, variables, headers }));
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

  /**
   * Change the active document.
   * @param {Partial<Pick<IdeDocument, "text" | "variables" | "headers" | "operationName">>} texts
   */
  change(texts) {
    const { active } = this;
    Object.assign(active, texts, { changedAt: Math.max(Date.now(), active.changedAt + 1) });
    this.storeSoon();
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
    if (!this.#list.length) this.#list.push(create({ text: "" }));
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

  /** Write the documents to the storage, without empty ones and without secrets. A full storage is ignored. */
  store() {
    clearTimeout(this.#timer);
    this.merge();
    const list = this.#list.filter((one) => !isEmpty(one) && one.text.length + one.variables.length <= MAX_STORED);
    const stored = list.map((one) => ({ ...one, ...redact(one) }));
    try {
      this.#storage.setItem(STORAGE_KEY, JSON.stringify({ list: stored, active: this.active.id }));
      this.#remember(list);
    } catch {
      this.#storage.removeItem(STORAGE_KEY);
      this.#known.clear();
    }
    try {
      this.#windowStorage.setItem(ACTIVE_KEY, this.active.id);
    } catch {
      // Without space in the storage, a reload shows the first document.
    }
  }

  /** Take over what other windows have stored: documents that they opened, changed or closed. */
  merge() {
    const stored = read(this.#storage)?.list;
    if (!stored) return;
    const { active } = this;
    const before = this.#list;
    const kept = before.filter(({ id, changedAt }) => {
      const storedAt = this.#known.get(id);
      // A document with newer changes stays open, although another window has closed it.
      return storedAt === undefined || storedAt < changedAt || stored.some((one) => one.id === id);
    });
    const opened = stored.filter(({ id }) => !this.#known.has(id) && !before.some((one) => one.id === id));
    const changed = kept.filter((one) => {
      const newest = stored.find(({ id, changedAt }) => id === one.id && changedAt > one.changedAt);
      return newest && Object.assign(one, newest);
    });
    this.#remember(stored);
    if (kept.length === before.length && !opened.length && !changed.length) return;
    this.#list = [...kept, ...opened];
    if (!this.#list.length) this.#list.push(create({ text: "" }));
    const index = this.#list.indexOf(active);
    this.#active = index < 0 ? Math.min(this.#active, this.#list.length - 1) : index;
    this.onMerge();
  }

  /** @param {IdeDocument[]} stored */
  #remember(stored) {
    this.#known = new Map(stored.map(({ id, changedAt }) => [id, changedAt]));
  }
}

/**
 * @param {NewDocument} wanted
 * @returns {IdeDocument}
 */
function create({ title = "", text, variables = "", headers = "" }) {
  const id = Array.from(crypto.getRandomValues(new Uint32Array(2)), (part) => part.toString(36)).join("-");
  return { id, title, text, variables, headers, operationName: null, changedAt: Date.now() };
}

/** @param {IdeDocument} document */
function isEmpty({ text, variables, headers }) {
  return !text.trim() && !variables.trim() && !headers.trim();
}

/**
 * Return the documents in a storage and the ID of the active one. Null if there are none.
 * @param {TextStorage} storage
 * @returns {{ list: IdeDocument[], active: string } | null}
 */
function read(storage) {
  try {
    const { list, active } = JSON.parse(storage.getItem(STORAGE_KEY) ?? "");
    return { list: list.slice(0, 2 * MAX_DOCUMENTS).map(readDocument), active: String(active) };
  } catch {
    return null;
  }
}

/**
 * @param {any} stored
 * @param {number} index
 * @returns {IdeDocument}
 */
function readDocument({ id, title, text, variables, headers, operationName, changedAt }, index) {
  return {
    id: String(id ?? index),
    title: String(title ?? ""),
    text: String(text ?? ""),
    variables: String(variables ?? ""),
    headers: String(headers ?? ""),
    operationName: operationName === null ? null : String(operationName ?? ""),
    changedAt: Number(changedAt) || 0,
  };
}
