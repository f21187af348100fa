/** The search and the filters of the outbox. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { countText, filterMails, listKinds, listRecipients } from "../../wattgate/app/static/outbox/filters.js";

const mail = (subject, to, kind) => ({ path: `/${subject}`, subject, to, kind, at: "2026-05-04T12:00:00Z" });
const MAILS = [
  mail("High use", "ada@example.org", "EMAIL"),
  mail("[TEST] High use", "tester@example.org", "TEST_MAIL"),
  mail("Your code", "ada@example.org", "ACCOUNT_MAIL"),
  mail("Old", "old@example.org", null),
];
const NONE = { words: "", kind: "", recipient: "" };

describe("filters", () => {
  for (const [name, filters, expected] of [
    ["none", {}, ["High use", "[TEST] High use", "Your code", "Old"]],
    ["words in any order and case", { words: " USE high " }, ["High use", "[TEST] High use"]],
    ["words in subject and recipient", { words: "high ada@" }, ["High use"]],
    ["a kind", { kind: "ACCOUNT_MAIL" }, ["Your code"]],
    ["a recipient", { recipient: "ada@example.org" }, ["High use", "Your code"]],
    ["all together", { words: "code", kind: "EMAIL", recipient: "ada@example.org" }, []],
  ]) {
    test(name, () => {
      const found = filterMails(MAILS, { ...NONE, ...filters });
      assert.deepEqual(found.map(({ subject }) => subject), expected);
    });
  }
});

test("choices are the kinds and recipients of the mails", () => {
  assert.deepEqual(listKinds(MAILS), [["ACCOUNT_MAIL", "Accounts"], ["EMAIL", "Alerts"], ["TEST_MAIL", "Tests"]]);
  assert.deepEqual(listKinds([mail("a", "b", "WEB_HOOK")]), [["WEB_HOOK", "Web hook"]]);
  assert.deepEqual(listRecipients(MAILS).map(([to]) => to), ["ada@example.org", "old@example.org", "tester@example.org"]);
});

test("the count says how many of the mails are shown", () => {
  assert.deepEqual([countText(1, 1), countText(3, 3), countText(0, 1), countText(2, 3)], ["1 mail", "3 mails", "0 of 1 mail", "2 of 3 mails"]);
});
