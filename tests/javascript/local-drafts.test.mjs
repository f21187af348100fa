/** Changes that a browser keeps until they are saved. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { LocalDrafts, MAX_DRAFTS } from "../../wattgate/app/static/preview/local-drafts.js";

/** A storage as browsers have it: its items are its own properties. */
class MemoryStorage {
  getItem(key) {
    return Object.hasOwn(this, key) ? this[key] : null;
  }

  setItem(key, value) {
    if (value.length > 5_000) throw new Error("QuotaExceededError");
    this[key] = value;
  }

  removeItem(key) {
    delete this[key];
  }
}

const draft = (savedAt = 0, htmlTemplate = "<p>a</p>") => {
  const content = { subject: "", preheader: "", htmlTemplate, text: null };
  const attributes = { name: "Mail", alertTypeId: "type", channelType: "EMAIL", cultureCode: "en-GB" };
  return { version: 1, savedAt, content, attributes };
};

test("drafts are kept for each template, and for a new one", () => {
  const drafts = new LocalDrafts(new MemoryStorage());
  drafts.write("one", draft(1));
  drafts.write(undefined, draft(2));
  assert.deepEqual([drafts.read("one"), drafts.read(undefined), drafts.read("two")], [draft(1), draft(2), null]);
  drafts.remove("one");
  assert.equal(drafts.read("one"), null);
});

test("the oldest draft makes room for another one", () => {
  const storage = new MemoryStorage();
  const drafts = new LocalDrafts(storage);
  storage.other = "kept";
  for (let number = 0; number <= MAX_DRAFTS; number += 1) drafts.write(`t${number}`, draft(number));
  assert.equal(drafts.read("t0"), null);
  assert.deepEqual(drafts.read("t1"), draft(1));
  assert.equal(storage.other, "kept");
});

test("values that are not drafts are ignored, and a draft that does not fit is not kept", () => {
  const storage = new MemoryStorage();
  const drafts = new LocalDrafts(storage);
  for (const text of ["{", "null", "[]", '{"version": 1}', '{"version": 1, "savedAt": 2, "content": {}}']) {
    storage.setItem("wattgate.preview.draft.one", text);
    assert.equal(drafts.read("one"), null);
  }
  drafts.write("one", draft(1, "x".repeat(6_000)));
  assert.equal(drafts.read("one"), null);
});
