/** The state of a template, its readers and its duplicates, in words. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  describeAudience, describeState, findDuplicates, templateLabel, versionLabel, warnOfDuplicates,
} from "../../wattgate/app/static/preview/template-state.js";

const template = (templateId, more = {}) => {
  return {
    templateId, name: `Mail ${templateId}`, alertTypeId: "type", channelType: "EMAIL", cultureCode: "en-GB",
    published: { version: 1 }, inUse: true, archivedAt: null, versions: [], active: true, ...more,
  };
};
const version = (number, publishedAt = "2026-05-04T12:00:00Z") => ({ version: number, publishedAt });

describe("state of the open version", () => {
  for (const [expected, opened, openedVersion, isChanged] of [
    ["Unsaved changes", template("a"), version(1), true],
    ["Unsaved changes", null, null, true],
    ["Not saved yet", null, null, false],
    ["Published", template("a"), version(1), false],
    ["Published, not used", template("a", { inUse: false }), version(1), false],
    ["Former version", template("a", { published: { version: 2 } }), version(1), false],
    ["Draft", template("a", { published: null }), version(1, null), false],
    ["Archived", template("a", { published: null, archivedAt: "2026-05-04T12:00:00Z" }), version(1), false],
  ]) {
    test(expected, () => assert.equal(describeState(opened, openedVersion, isChanged).text, expected));
  }
});

test("labels name drafts, archived templates and those that are not used", () => {
  assert.equal(templateLabel(template("a")), "Mail a · email · en-GB");
  assert.equal(templateLabel(template("a", { published: null })), "Mail a · email · en-GB · draft");
  assert.equal(templateLabel(template("a", { inUse: false })), "Mail a · email · en-GB · not used");
  assert.equal(templateLabel(template("a", { published: null, archivedAt: "x" })), "Mail a · email · en-GB · archived");
  assert.equal(versionLabel(template("a"), version(1)), "Version 1, published");
  assert.equal(versionLabel(template("a"), version(2, null)), "Version 2, draft");
  assert.equal(versionLabel(template("a"), version(2)), "Version 2");
});

test("the audience names alerts, channel and culture", () => {
  const types = [{ alertTypeId: "type", systemAlertTypeId: "CM01", name: "High use" }];
  assert.equal(
    describeAudience(template("a"), types),
    "alerts “CM01 High use” by e-mail, for readers whose culture is en-GB or falls back to it",
  );
});

describe("duplicates", () => {
  const [older, newer] = [template("older"), template("newer", { cultureCode: "en-gb" })];
  const others = [
    template("draft", { published: null }),
    template("French", { cultureCode: "fr" }),
    template("push", { channelType: "PUSH" }),
    template("other", { alertTypeId: "other" }),
  ];
  const all = [older, ...others, newer];

  test("are published, for the same alerts, channel and culture, newest first", () => {
    assert.deepEqual(findDuplicates(older, all).map(({ templateId }) => templateId), ["newer", "older"]);
    assert.deepEqual(findDuplicates(older, all, "older").map(({ templateId }) => templateId), ["newer"]);
    assert.deepEqual(findDuplicates(others[1], all, "French"), []);
  });

  for (const [name, opened, words] of [
    ["a new template", null, "alerts use it instead"],
    ["the older template", older, "Alerts use it, because it is newer, so that this template is not sent"],
    ["the newer template", newer, "Alerts use this template, because it is newer"],
    ["an older draft", { ...older, published: null }, "even after you publish this one"],
  ]) {
    test(`${name} has a warning`, () => {
      const templates = all.map((known) => (known.templateId === opened?.templateId ? opened : known));
      assert.ok(warnOfDuplicates(opened, opened ?? older, templates)?.text.includes(words));
    });
  }

  test("an archived template and one without duplicates have none", () => {
    assert.equal(warnOfDuplicates({ ...older, archivedAt: "x", published: null }, older, all), null);
    assert.equal(warnOfDuplicates(others[1], others[1], all), null);
  });
});
