/**
 * The operations that ran, newest first: in the browser only, bounded, without repetitions and without secrets. Pinned ones
 * stay. A log-out removes those that ran with a log-in.
 */

import { holdsSecrets, redact } from "./secrets.js";

/** @import { TextStorage } from "./documents.js" */

/**
 * @typedef {object} HistoryEntry
 * @property {string} title
 * @property {string} text
 * @property {string} variables
 * @property {string} headers
 * @property {number} ranAt  Milliseconds since 1970.
 * @property {number | null} status  Null for a subscription.
 * @property {number} errors
 * @property {boolean} isPinned
 * @property {boolean} isPersonal  Whether it ran with a log-in: its variables may name people or homes.
 * @property {boolean} isRedacted  Whether secrets were left out.
 */

/** @typedef {Pick<HistoryEntry, "title" | "text" | "variables" | "headers" | "ranAt" | "status" | "errors" | "isPersonal">} Run */

export const STORAGE_KEY = "wattgate.ide.history";
export const MAX_ENTRIES = 100;
const MAX_PINNED = 50;
/** Characters of all entries together, so that the storage has space for the rest of the gateway's pages. */
const MAX_CHARACTERS = 1_000_000;
/** Characters above which an operation is not kept. */
export const MAX_ENTRY = 50_000;

export class History {
  #storage;
  /** @type {HistoryEntry[]} */
  #present;
  /** Whether the storage has all entries. Another window may have changed them there. */
  #isStored = true;

  /** @param {TextStorage} storage */
  constructor(storage) {
    this.#storage = storage;
    this.#present = read(storage);
  }

  get #entries() {
    if (this.#isStored) this.#present = read(this.#storage);
    return this.#present;
  }

  /** All entries, pinned ones first, then the newest. */
  get entries() {
    return [...this.#entries].sort((one, other) => Number(other.isPinned) - Number(one.isPinned) || other.ranAt - one.ranAt);
  }

  /**
   * Add an operation that ran. One with the same texts is replaced, and stays pinned.
   * @param {Run} run
   */
  add(run) {
    const entry = entryOf(run);
    if (sizeOf(entry) > MAX_ENTRY) return;
    const entries = this.#entries;
    const same = entries.find((one) => isSame(one, entry));
    this.#store(bound([{ ...entry, isPinned: same?.isPinned ?? false }, ...entries.filter((one) => one !== same)]));
  }

  /**
   * Return the entries that contain all words, in any of their texts.
   * @param {string} words
   */
  search(words) {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    return this.entries.filter(({ title, text, variables }) => {
      const content = `${title}\n${text}\n${variables}`.toLowerCase();
      return wanted.every((word) => content.includes(word));
    });
  }

  /**
   * Pin an entry, or the other way round. Return false if too many are pinned.
   * @param {HistoryEntry} entry
   */
  togglePin(entry) {
    const entries = this.#entries;
    const found = entries.find((one) => isSame(one, entry));
    if (!found) return true;
    if (!found.isPinned && entries.filter(({ isPinned }) => isPinned).length >= MAX_PINNED) return false;
    found.isPinned = !found.isPinned;
    this.#store(entries);
    return true;
  }

  /** @param {HistoryEntry} entry */
  remove(entry) {
    this.#store(this.#entries.filter((one) => !isSame(one, entry)));
  }

  /** Remove all entries that are not pinned. */
  clear() {
    this.#store(this.#entries.filter(({ isPinned }) => isPinned));
  }

  /** Remove what ran with a log-in, pinned entries too, except for their variables: a pinned document stays. */
  forgetPersonal() {
    const kept = this.#entries.filter(({ isPersonal, isPinned }) => !isPersonal || isPinned);
    this.#store(kept.map((entry) => (entry.isPersonal ? { ...entry, variables: "", headers: "", isPersonal: false } : entry)));
  }

  /** @param {HistoryEntry[]} entries */
  #store(entries) {
    this.#present = entries;
    try {
      if (entries.length) this.#storage.setItem(STORAGE_KEY, JSON.stringify(entries));
      else this.#storage.removeItem(STORAGE_KEY);
      this.#isStored = true;
    } catch {
      // Without space in the storage, the history lasts until the page is closed.
      this.#isStored = false;
    }
  }
}

/**
 * @param {Run} run
 * @returns {HistoryEntry}
 */
function entryOf(run) {
  return { ...run, ...redact(run), isPinned: false, isRedacted: holdsSecrets(run) };
}

/**
 * @param {HistoryEntry} one
 * @param {HistoryEntry} other
 */
function isSame(one, other) {
  return one.text.trim() === other.text.trim() && one.variables.trim() === other.variables.trim() && one.headers === other.headers;
}

/** @param {Pick<HistoryEntry, "text" | "variables" | "headers">} entry */
function sizeOf({ text, variables, headers }) {
  return text.length + variables.length + headers.length;
}

/**
 * Return the entries that are kept: all pinned ones, and the newest others up to the bounds.
 * @param {HistoryEntry[]} entries  Newest first.
 */
function bound(entries) {
  let [count, size] = [0, 0];
  return entries.filter((entry) => {
    if (entry.isPinned) return true;
    count += 1;
    size += sizeOf(entry);
    return count <= MAX_ENTRIES && size <= MAX_CHARACTERS;
  });
}

/**
 * @param {TextStorage} storage
 * @returns {HistoryEntry[]}
 */
function read(storage) {
  try {
    const stored = JSON.parse(storage.getItem(STORAGE_KEY) ?? "[]");
    return bound(stored.filter((/** @type {any} */ one) => typeof one?.text === "string").map((/** @type {any} */ one) => ({
      title: String(one.title ?? ""), text: one.text, variables: String(one.variables ?? ""), headers: String(one.headers ?? ""),
      ranAt: Number(one.ranAt) || 0, status: typeof one.status === "number" ? one.status : null, errors: Number(one.errors) || 0,
      isPinned: Boolean(one.isPinned), isPersonal: Boolean(one.isPersonal), isRedacted: Boolean(one.isRedacted),
    })));
  } catch {
    return [];
  }
}
