/**
 * List which values the code of the REST reference and the storage of the IDE leave out. Reads JSON from stdin, prints JSON.
 */

import { text } from "node:stream/consumers";

import { redact } from "../../wattgate/app/static/ide/secrets.js";
import { curlCommand } from "../../wattgate/app/static/reference/curl.js";
import { Reference } from "../../wattgate/app/static/reference/openapi.js";
import { hideSecrets, planRequest } from "../../wattgate/app/static/reference/request.js";
import { describeSchema, sampleValue } from "../../wattgate/app/static/reference/schema.js";

const { document, address, inputs } = JSON.parse(await text(process.stdin));
const reference = new Reference(document, new URL(address));
const MARK = "value-of-";

/** Return a body in which each text is the name of its member. */
function fill(value, name) {
  if (Array.isArray(value)) return value.map((item) => fill(item, name));
  if (value === null || typeof value !== "object") return `${MARK}${name}.`;
  return Object.fromEntries(Object.entries(value).map(([member, inner]) => [member, fill(inner, member)]));
}

/** Return the body of a request with a value for each member, or null for a file. */
function bodyOf({ media, schema, example }) {
  const value = describeSchema(schema, reference).members.length ? sampleValue(schema, reference) : example;
  if (value === undefined) return null;
  const filled = fill(value, "");
  return media === "application/json"
    ? { kind: "json", media, text: JSON.stringify(filled) }
    : { kind: "form", media, pairs: Object.entries(filled).map(([name, own]) => [name, String(own)]) };
}

const sent = new Set();
const shown = new Set();
for (const operation of reference.operations) {
  const names = operation.parameters.map((parameter) => [`${parameter.in}.${parameter.name}`, `${MARK}${parameter.name}.`]);
  for (const body of operation.bodies.length ? operation.bodies.map(bodyOf) : [null]) {
    const plan = planRequest(operation, { parameters: Object.fromEntries(names), body, accept: "" }, reference, { kind: "none" });
    const note = (set, written) => [...written.matchAll(/value-of-([\w-]+)\./g)].forEach(([, name]) => set.add(name));
    note(sent, JSON.stringify(plan));
    note(shown, curlCommand(hideSecrets(plan, operation, reference)));
  }
}
const documents = inputs.map((name) => [name, redact({ text: `{ a(${name}: "${MARK}") }`, variables: "", headers: "" }).text]);
console.log(JSON.stringify({
  rest: { sent: [...sent], hidden: [...sent].filter((name) => !shown.has(name)) },
  graphql: documents.filter(([, stored]) => !stored.includes(MARK)).map(([name]) => name),
}));
