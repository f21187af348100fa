/** The REST reference: schemas, sample values and curl commands from an OpenAPI document. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { groupOperations } from "../../wattgate/app/static/reference/areas.js";
import { curlCommand } from "../../wattgate/app/static/reference/curl.js";
import { Reference, parseDescription } from "../../wattgate/app/static/reference/openapi.js";
import { describeSchema, sampleValue } from "../../wattgate/app/static/reference/schema.js";

const ADDRESS = new URL("https://gateway.example/api/v0-1/openapi.json");

const PDF = { contentMediaType: "application/pdf" };
const DOCUMENT = {
  info: { version: "0-1" },
  servers: [{ url: "/api/v0-1/" }],
  paths: {
    "/resource/{resourceId}/readings": {
      get: {
        operationId: "readings",
        tags: ["resource"],
        summary: "List readings.",
        description: "List readings.\n\nGraphQL: `resource.readings`\n\nIn buckets\nof a period.",
        security: [{ token: [] }, { basic: [] }],
        parameters: [
          { name: "resourceId", in: "path", required: true, schema: { type: "string" } },
          { name: "period", in: "query", schema: { type: "string" }, example: "PT30M" },
          { name: "offset", in: "query", schema: { type: "integer" } },
          { name: "veId", in: "query", required: true, schema: { type: "string" } },
        ],
        responses: { 200: { description: "OK", content: {} }, 404: { $ref: "#/components/responses/Error" } },
      },
      post: {
        operationId: "record",
        tags: ["new-tag"],
        summary: "Record readings.",
        security: [{ basic: [] }],
        requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/Note" } } } },
        responses: { 200: { description: "OK", content: { "application/pdf": { schema: PDF } } } },
      },
    },
  },
  components: {
    securitySchemes: {
      token: { type: "apiKey", name: "token", in: "header" },
      basic: { type: "http", scheme: "basic" },
    },
    schemas: {
      Note: {
        type: "object",
        required: ["text"],
        properties: {
          text: { type: "string" },
          replies: { type: "array", items: { $ref: "#/components/schemas/Note" } },
        },
      },
    },
    responses: { Error: { description: "An error", content: { "application/json": { schema: { type: "object" } } } } },
  },
};

const reference = new Reference(DOCUMENT, ADDRESS);
const [read, record] = reference.operations;

describe("document", () => {
  test("operations have their facts", () => {
    assert.equal(reference.baseUrl, "https://gateway.example/api/v0-1");
    assert.deepEqual([read.id, read.area, read.method], ["readings", "resource", "GET"]);
    assert.equal(read.graphqlField, "resource.readings");
    assert.deepEqual(read.notes, ["In buckets of a period."]);
    assert.deepEqual(read.credentials, ["token", "basic"]);
    const [{ status, description }, ...others] = read.errorResponses;
    assert.deepEqual([status, description, others], ["404", "An error", []]);
    assert.deepEqual(reference.errorSchema, { type: "object" });
  });

  test("a description may be empty", () => {
    assert.deepEqual(parseDescription(""), { paragraphs: [], graphqlField: null });
  });

  test("a reference may have additions", () => {
    const resolved = reference.resolve({ $ref: "#/components/schemas/Note", description: "A note." });
    assert.equal(resolved.description, "A note.");
    assert.deepEqual(resolved.required, ["text"]);
  });

  test("operations are grouped by tag, unknown tags last", () => {
    const groups = groupOperations(reference.operations);
    const names = groups.map(({ name, areas }) => [name, areas.map((area) => area.name)]);
    assert.deepEqual(names, [["Homes and readings", ["Resources and readings"]], ["More", ["new-tag"]]]);
  });
});

describe("schema", () => {
  const type = (schema) => describeSchema(schema, reference).type;

  test("types in words", () => {
    assert.equal(type({}), "any");
    assert.equal(type({ type: ["string", "null"] }), "string or null");
    assert.equal(type({ type: "string", format: "date-time" }), "date-time");
    assert.equal(type({ type: "array", items: { $ref: "#/components/schemas/Note" } }), "array of Note");
    assert.equal(type({ anyOf: [{ $ref: "#/components/schemas/Note" }, { type: "null" }] }), "Note or null");
    assert.equal(type({ type: "array", items: {} }), "array");
    assert.equal(type({ enum: ["a", "b"] }), "enum");
    assert.equal(type({ contentMediaType: "application/pdf" }), "binary");
  });

  test("members of an object inside an array", () => {
    const schema = { type: "array", items: { $ref: "#/components/schemas/Note" } };
    const { name, members } = describeSchema(schema, reference);
    assert.equal(name, "Note");
    assert.deepEqual(members.map(({ member, required }) => [member, required]), [["text", true], ["replies", false]]);
  });

  test("a sample does not repeat a component inside itself", () => {
    const note = { $ref: "#/components/schemas/Note" };
    assert.deepEqual(sampleValue(note, reference), { text: "string", replies: [] });
    assert.deepEqual(sampleValue(note, reference, { requiredOnly: true }), { text: "string" });
  });

  test("samples of scalars", () => {
    assert.equal(sampleValue({ type: "boolean" }, reference), true);
    assert.equal(sampleValue({ type: "integer" }, reference), 1);
    assert.equal(sampleValue({ type: "string", format: "date-time" }, reference), "2026-11-01T00:00:00Z");
    assert.match(sampleValue({ type: "string" }, reference, { name: "resourceId" }), /^[0-9a-f-]{36}$/);
    assert.equal(sampleValue({ anyOf: [{ type: "null" }, { enum: ["LOW"] }] }, reference), "LOW");
  });
});

describe("curl command", () => {
  test("of a request with parameters", () => {
    assert.equal(
      curlCommand(read, reference),
      [
        'curl -G "https://gateway.example/api/v0-1/resource/$resourceId/readings"',
        "--data-urlencode 'period=PT30M'",
        "--data-urlencode 'veId=3f2b8c1e-6d54-4a7b-9c0d-1e2f3a4b5c6d'",
        '-H "token: $token"',
      ].join(" \\\n  "),
    );
  });

  test("of a request with a body and a binary response", () => {
    assert.equal(
      curlCommand(record, reference),
      [
        'curl -X POST "https://gateway.example/api/v0-1/resource/$resourceId/readings"',
        '-u "$username:$password"',
        '-H "Content-Type: application/json"',
        `-d '{"text":"string"}'`,
        "--output response.bin",
      ].join(" \\\n  "),
    );
  });

  test("quotes apostrophes", () => {
    const body = { media: "application/json", schema: {}, example: { text: "it's" } };
    assert.match(curlCommand({ ...record, body }, reference), /-d '\{"text":"it'\\''s"\}'/);
  });

  test("wraps a long body", () => {
    const body = { media: "application/json", schema: {}, example: { text: "x".repeat(70) } };
    assert.match(curlCommand({ ...record, body }, reference), /-d '\{\n {4}"text": "x{70}"\n {2}\}'/);
  });
});
