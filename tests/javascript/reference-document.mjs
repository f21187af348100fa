/** A small OpenAPI document for the tests of the REST reference. */

import { Reference } from "../../wattgate/app/static/reference/openapi.js";

const ADDRESS = new URL("https://gateway.example/api/v0-1/openapi.json");
const PDF = { contentMediaType: "application/pdf" };
const NOTE = { $ref: "#/components/schemas/Note" };
const ID = { type: "string" };
const RESOURCES = { type: "array", items: { type: "object", properties: { resourceId: ID, ownerId: ID } } };

const PATHS = {
  "/resource/{resourceId}/readings": {
    get: {
      operationId: "readings",
      tags: ["Readings"],
      summary: "List readings.",
      description: "List readings.\n\nGraphQL: `query readings`\n\nIn buckets\nof a period.",
      security: [{ token: [] }, { basic: [] }],
      parameters: [
        { name: "resourceId", in: "path", required: true, schema: { type: "string" } },
        { name: "period", in: "query", schema: { type: "string" }, example: "PT30M" },
        { name: "offset", in: "query", schema: { type: "integer" } },
        { name: "veId", in: "query", required: true, schema: { type: "string" } },
        { $ref: "#/components/parameters/Purpose" },
      ],
      responses: { 200: { description: "OK", content: {} }, 404: { $ref: "#/components/responses/Error" } },
    },
    post: {
      operationId: "addNote",
      tags: ["New tag"],
      summary: "Record readings.",
      "x-effect": "write",
      "x-graphql": { kind: "mutation", field: "addNote", document: "mutation AddNote { addNote { text } }", variables: {} },
      security: [{ basic: [] }],
      parameters: [{ name: "resourceId", in: "path", required: true, schema: { type: "string" } }],
      requestBody: {
        required: true,
        content: { "application/json": { schema: NOTE }, "application/x-ndjson": { schema: { type: "string", format: "binary" } } },
      },
      responses: {
        200: { description: "OK", content: { "application/pdf": { schema: PDF } } },
        404: { description: "There is no such record.", "x-error-codes": ["NOT_FOUND"] },
      },
    },
    delete: {
      operationId: "removeNote",
      tags: ["Readings"],
      summary: "Remove readings.",
      "x-effect": "destructive",
      parameters: [],
      responses: {},
    },
  },
  "/resource": {
    get: {
      operationId: "resources",
      tags: ["Readings"],
      summary: "List resources.",
      "x-effect": "read",
      parameters: [{ name: "first", in: "query", schema: { type: "integer" } }],
      responses: { 200: { description: "OK", content: { "application/json": { schema: RESOURCES } } } },
    },
  },
};

export const reference = new Reference(
  {
    openapi: "3.1.0",
    info: { version: "0-1" },
    servers: [{ url: "/api/v0-1/" }],
    tags: [{ name: "Readings" }],
    "x-tagGroups": [{ name: "Homes and readings", tags: ["Readings", "Unused"] }],
    paths: PATHS,
    components: {
      securitySchemes: {
        token: { type: "apiKey", name: "token", in: "header" },
        basic: { type: "http", scheme: "basic" },
      },
      parameters: { Purpose: { name: "X-Access-Purpose", in: "header", schema: { type: "string" } } },
      schemas: {
        Note: {
          type: "object",
          required: ["text"],
          properties: { text: { type: "string" }, replies: { type: "array", items: NOTE } },
        },
      },
      responses: {
        Error: { description: "There are no such readings.", "x-error-codes": ["CONSENT_REVOKED", "NOT_FOUND"], content: { "application/json": { schema: { type: "object" } } } },
      },
    },
  },
  ADDRESS,
);
