/** The search of the REST reference ranks operations by the intent of a query. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { SearchIndex } from "../../wattgate/app/static/reference/search.js";

const OPERATIONS = [
  ["DELETE", "/virtualentity/{veId}", "mutation deactivateVirtualEntity", "Deactivate a home. Its resources and readings stay."],
  ["GET", "/virtualentity", "query virtualEntities", "Return the homes of the user."],
  ["DELETE", "/virtualentity/{veId}/readings", "mutation removeReadings", "Remove the readings."],
  ["GET", "/resource", "query resources", "Return the resources."],
  ["POST", "/readings", "mutation recordReadingColumns", "Record readings, given as columns."],
  ["POST", "/resource/{resourceId}/readings", "mutation recordReadings", "Record readings."],
  ["GET", "/resource/{resourceId}/readings", "query readings", "Return the readings of a resource."],
  ["GET", "/resource/{resourceId}/tariff", "query resource", "Return the tariff of a resource."],
  ["GET", "/resource/{resourceId}/current", "query resource", "Return the current value."],
  ["GET", "/auth", "query tokenStatus", "Return the state of the token."],
  ["POST", "/auth", "mutation authenticate", "Return a token for a username and password."],
  ["DELETE", "/auth/deleteToken", "mutation deleteToken", "Revoke the token."],
  ["DELETE", "/user/{userId}", "mutation deleteUser", "Delete a user."],
  ["GET", "/user/{userId}", "query user", "Return a user."],
  ["GET", "/device", "query devices", "Return the devices."],
].map(([method, path, graphqlField, summary]) => ({
  id: graphqlField.split(" ")[1] + method + path.length,
  method,
  path,
  graphqlField,
  summary,
  notes: [],
  parameters: [],
  isMutation: graphqlField.startsWith("mutation"),
  isDestructive: method === "DELETE",
}));

const index = new SearchIndex(OPERATIONS, () => "");
const found = (query) => index.find(query).map(({ method, path }) => `${method} ${path}`);

describe("search", () => {
  for (const [query, expected] of Object.entries({
    readings: "GET /resource/{resourceId}/readings",
    "/readings": "GET /resource/{resourceId}/readings",
    reading: "GET /resource/{resourceId}/readings",
    usage: "GET /resource/{resourceId}/readings",
    home: "GET /virtualentity",
    homes: "GET /virtualentity",
    meter: "GET /resource",
    login: "POST /auth",
    "Log in": "POST /auth",
    "how to sign in": "POST /auth",
    bill: "GET /resource/{resourceId}/tariff",
    "the costs": "GET /resource/{resourceId}/tariff",
    "live power": "GET /resource/{resourceId}/current",
    deleteUser: "DELETE /user/{userId}",
    "delete user": "DELETE /user/{userId}",
    "GET /device": "GET /device",
    tokenStatus: "GET /auth",
  })) {
    test(`"${query}" means ${expected}`, () => assert.equal(found(query)[0], expected));
  }

  test("operations that remove something come last, unless the user asks for them", () => {
    for (const query of ["readings", "home", "token", "user", "virtualentity"]) {
      const removals = found(query).map((one) => one.startsWith("DELETE"));
      assert.deepEqual(removals, removals.toSorted(), query);
    }
  });

  test("every word has to match", () => {
    assert.deepEqual(found("readings zebra"), []);
    assert.deepEqual(found("  "), []);
    assert.deepEqual(found("?!"), []);
  });
});
