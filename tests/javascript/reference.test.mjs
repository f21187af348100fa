/** The REST reference: the OpenAPI document, its schemas, its groups and its addresses. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { readHash, searchHash, wordsOf } from "../../wattgate/app/static/reference/address.js";
import { groupOperations } from "../../wattgate/app/static/reference/areas.js";
import { fieldText, fieldValue, plainMembers } from "../../wattgate/app/static/reference/body-fields.js";
import { findList } from "../../wattgate/app/static/reference/id-choice.js";
import { parseDescription } from "../../wattgate/app/static/reference/openapi.js";
import { isExpired, readBudget, readError } from "../../wattgate/app/static/reference/response-text.js";
import { describeSchema, isSecret, limitsSentence, sampleValue, secretMembers } from "../../wattgate/app/static/reference/schema.js";
import { reference } from "./reference-document.mjs";

const [read, record, remove] = reference.operations;
const NOTE = { $ref: "#/components/schemas/Note" };

describe("document", () => {
  test("operations have their facts", () => {
    assert.equal(reference.baseUrl, "https://gateway.example/api/v0-1");
    assert.deepEqual([read.id, read.area, read.method], ["readings", "Readings", "GET"]);
    assert.equal(read.graphqlField, "query readings");
    assert.deepEqual(read.notes, ["In buckets of a period."]);
    assert.deepEqual(read.credentials, ["token", "basic"]);
    assert.deepEqual(read.errorResponses, [{ status: "404", codes: ["CONSENT_REVOKED", "NOT_FOUND"] }]);
    assert.deepEqual(reference.errorSchema, { type: "object" });
  });

  test("the effect and the errors are those that the document states", () => {
    assert.deepEqual([read, record, remove].map((one) => one.isMutation), [false, true, true]);
    assert.deepEqual([read, record, remove].map((one) => one.isDestructive), [false, false, true]);
    assert.deepEqual(record.errorResponses, [{ status: "404", codes: ["NOT_FOUND"] }]);
    assert.equal(record.graphqlField, "mutation addNote");
  });

  test("a description may be empty", () => {
    assert.deepEqual(parseDescription(""), { paragraphs: [], graphqlField: null });
  });

  test("a reference may have additions", () => {
    const resolved = reference.resolve({ ...NOTE, description: "A note." });
    assert.equal(resolved.description, "A note.");
    assert.deepEqual(resolved.required, ["text"]);
  });

  test("IDs come from the list of their records", () => {
    assert.equal(findList("resourceId", reference).path, "/resource");
    assert.deepEqual(["ownerId", "veId", "period"].map((name) => findList(name, reference)), [null, null, null]);
  });

  test("operations are in the groups of the document, tags without a group last", () => {
    const names = groupOperations(reference).map(({ name, areas }) => [name, areas.map((area) => [area.id, area.name])]);
    assert.deepEqual(names, [
      ["Homes and readings", [["area-readings", "Readings"]]],
      ["Other operations", [["area-new-tag", "New tag"]]],
    ]);
  });
});

describe("schema", () => {
  const type = (schema) => describeSchema(schema, reference).type;

  test("types in words", () => {
    assert.equal(type({}), "any");
    assert.equal(type({ type: ["string", "null"] }), "string or null");
    assert.equal(type({ type: "string", format: "date-time" }), "date-time");
    assert.equal(type({ type: ["string", "null"], format: "date-time" }), "date-time or null");
    assert.equal(type({ type: "array", items: NOTE }), "array of Note");
    assert.equal(type({ anyOf: [NOTE, { type: "null" }] }), "Note or null");
    assert.equal(type({ anyOf: [{ type: "integer" }, { type: "string" }] }), "integer or string");
    assert.equal(type({ allOf: [NOTE], description: "The note." }), "Note");
    assert.equal(type({ type: "array", items: {} }), "array");
    assert.equal(type({ enum: ["a", "b"] }), "enum");
    assert.equal(type({ contentMediaType: "application/pdf" }), "binary");
  });

  test("null, descriptions, values and limits", () => {
    const described = describeSchema(
      { anyOf: [{ type: "string", enum: ["a"], maxLength: 1000, default: "a", description: "A letter." }, { type: "null" }] },
      reference,
    );
    assert.equal(described.nullable, true);
    assert.equal(described.description, "A letter.");
    assert.deepEqual(described.values, ["a"]);
    assert.deepEqual(described.limits, ["at most 1,000 characters", '`"a"` if left out']);
    assert.equal(limitsSentence(described.limits, "A text. At most 1,000 characters."), '`"a"` if left out.');
    assert.equal(limitsSentence([]), "");
  });

  test("members of an object inside an array", () => {
    const { name, members } = describeSchema({ type: "array", items: NOTE }, reference);
    assert.equal(name, "Note");
    assert.deepEqual(members.map(({ member, required }) => [member, required]), [["text", true], ["replies", false]]);
  });

  test("a sample does not repeat a component inside itself", () => {
    assert.deepEqual(sampleValue(NOTE, reference), { text: "string", replies: [] });
    assert.deepEqual(sampleValue(NOTE, reference, { requiredOnly: true }), { text: "string" });
  });

  test("samples of scalars", () => {
    assert.equal(sampleValue({ type: "boolean" }, reference), true);
    assert.equal(sampleValue({ type: "integer", minimum: 5 }, reference), 5);
    assert.equal(sampleValue({ type: ["null", "integer"] }, reference), 1);
    assert.equal(sampleValue({ type: "string", example: "x" }, reference), "x");
    assert.equal(sampleValue({ type: "string", format: "date-time" }, reference), "2026-11-01T00:00:00Z");
    assert.match(sampleValue({ type: "string" }, reference, { name: "resourceId" }), /^[0-9a-f-]{36}$/);
    assert.equal(sampleValue({ anyOf: [{ type: "null" }, { enum: ["LOW"] }] }, reference), "LOW");
  });

  test("secrets are known by name and by format", () => {
    assert.deepEqual(["password", "newPassword", "secret", "refreshToken"].filter((name) => !isSecret(name)), []);
    assert.deepEqual(["name", "tokenId", "postalCode", "reference"].filter((name) => isSecret(name)), []);
    const schema = { properties: { pin: { type: "string", format: "password" }, name: { type: "string" } } };
    assert.deepEqual(secretMembers(schema, reference), ["pin"]);
  });
});

describe("fields of a body", () => {
  test("only objects of plain values have fields", () => {
    const plain = { type: "object", properties: { a: { type: "string" }, b: { enum: [1, 2] } } };
    assert.deepEqual(plainMembers({ media: "", schema: plain }, reference).map(({ member }) => member), ["a", "b"]);
    assert.deepEqual(plainMembers({ media: "", schema: NOTE }, reference), []);
    assert.deepEqual(plainMembers({ media: "", schema: {}, example: { x: 1 } }, reference).map(({ member }) => member), ["x"]);
    assert.deepEqual(plainMembers({ media: "", schema: { type: "array", items: plain } }, reference), []);
  });

  test("texts become values of their type, and keep what they cannot express", () => {
    assert.equal(fieldValue("true", { type: "boolean" }), true);
    assert.equal(fieldValue("12.5", { type: ["number", "null"] }), 12.5);
    assert.equal(fieldValue("0.10", { type: ["number", "string"] }), "0.10");
    assert.equal(fieldValue("123456789012345678901", { type: "integer" }), "123456789012345678901");
    assert.equal(fieldValue("twelve", { type: "integer" }), "twelve");
    assert.equal(fieldValue("12", { type: "string" }), "12");
    assert.equal(fieldValue("2", { enum: [1, 2] }), 2);
    assert.deepEqual([fieldText(null), fieldText(0), fieldText(false)], ["", "0", "false"]);
  });
});

describe("response", () => {
  test("the budget is in words", () => {
    const headers = new Headers({ RateLimit: '"user";r=49961;t=12', "RateLimit-Policy": '"user";q=50000;w=60' });
    assert.deepEqual(readBudget(headers), { remaining: "49,961 of 50,000", reset: "full in 12 s" });
    assert.equal(readBudget(new Headers()), null);
  });

  test("errors of other formats are not errors of the gateway", () => {
    assert.equal(readError("<html>"), null);
    assert.equal(readError(null), null);
    assert.deepEqual(readError({ error: "missing elements -a", code: "BAD_INPUT", problems: [{ path: ["a", 0], message: "no" }] }), {
      code: "BAD_INPUT",
      message: "missing elements -a",
      problems: [{ path: "a.0", message: "no" }],
    });
  });

  test("only a request with a token can have an expired one", () => {
    assert.equal(isExpired(401, "UNAUTHENTICATED", "token"), true);
    assert.equal(isExpired(401, "UNAUTHENTICATED", "none"), false);
    assert.equal(isExpired(401, "SECOND_FACTOR_REQUIRED", "token"), false);
    assert.equal(isExpired(401, "REAUTHENTICATION_REQUIRED", "token"), false);
    assert.equal(isExpired(403, "FORBIDDEN", "token"), false);
  });
});

describe("address", () => {
  const { operations } = reference;

  test("names a search, an operation or another element", () => {
    assert.deepEqual(readHash("", operations), { kind: "none" });
    assert.deepEqual(readHash(searchHash("a b&c"), operations), { kind: "search", query: "a b&c" });
    assert.deepEqual(readHash("#readings", operations), { kind: "operation", operation: read });
    assert.deepEqual(readHash("#errors", operations), { kind: "other", id: "errors" });
    assert.deepEqual(readHash("#%", operations), { kind: "other", id: "%" });
  });

  test("the words of an unknown operation", () => {
    assert.equal(wordsOf("getResourceReadings"), "resource readings");
    assert.equal(wordsOf("virtualEntities"), "virtual entities");
  });
});
