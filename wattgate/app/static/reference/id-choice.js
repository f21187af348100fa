/** A choice of the IDs that the user can give for a parameter: those of the records that a list of the interface has. */

import { element } from "../shared/dom.js";
import { planRequest } from "./request.js";
import { describeSchema } from "./schema.js";
import { receive } from "./send.js";

/** @import { Credentials } from "./credentials.js" */
/** @import { Operation, Reference, SchemaNode } from "./openapi.js" */

/** Records that the choice has. More are of no help. */
const MAX_CHOICES = 200;
/** Members that name a record, the best first. */
const NAMES = ["name", "username", "description", "classifier", "hardwareId", "title"];

/**
 * Return the operation that lists the records with an ID: it needs no parameters, and its items have the ID as a member.
 * @param {string} name  Of the ID, such as resourceId.
 * @param {Reference} reference
 * @returns {Operation | null}
 */
export function findList(name, reference) {
  if (!/Id$/.test(name) || name === "applicationId" || name === "userId") return null;
  const lists = reference.operations.filter(
    ({ isMutation, path, parameters, responses }) =>
      !isMutation &&
      !path.includes("{") &&
      !parameters.some(({ required }) => required) &&
      responses.some(({ contents }) => contents.some(({ schema }) => isListOf(schema, name, reference))),
  );
  return lists.sort((a, b) => a.path.length - b.path.length)[0] ?? null;
}

/**
 * @param {SchemaNode} schema
 * @param {string} name
 * @param {Reference} reference
 */
function isListOf(schema, name, reference) {
  if (reference.resolve(schema).type !== "array") return false;
  // The own ID of a record is its first one. Others refer to other records.
  const first = describeSchema(schema, reference).members.find(({ member }) => member.endsWith("Id"));
  return first?.member === name;
}

/**
 * Create the choice of an ID, or null if no operation lists its records.
 * @param {string} name
 * @param {{ reference: Reference, credentials: Credentials }} page
 * @param {(id: string) => void} onChoose
 * @returns {HTMLElement | null}
 */
export function idChoice(name, { reference, credentials }, onChoose) {
  const list = findList(name, reference);
  if (!list) return null;
  const button = element("button", { type: "button", class: "quiet-button", "data-testid": `find-${name}` }, "Choose from mine");
  const select = element("select", { "aria-label": `Choose a ${name}`, "data-testid": `choice-${name}`, hidden: true });
  const show = () => {
    select.hidden = true;
    button.hidden = credentials.forOperation(list, reference.schemes) === null;
  };
  button.addEventListener("click", async () => {
    const choices = await readChoices(list, name, reference, credentials);
    select.replaceChildren(new Option(choices.length ? "Choose…" : "You have none", ""), ...choices.map(([id, label]) => new Option(label, id)));
    select.hidden = false;
    button.hidden = true;
    select.focus();
  });
  select.addEventListener("change", () => select.value && onChoose(select.value));
  credentials.addEventListener("change", show);
  show();
  return element("div", { class: "id-choice" }, button, select);
}

/**
 * @param {Operation} list
 * @param {string} name
 * @param {Reference} reference
 * @param {Credentials} credentials
 * @returns {Promise<[id: string, label: string][]>}
 */
async function readChoices(list, name, reference, credentials) {
  const credential = credentials.forOperation(list, reference.schemes);
  if (!credential) return [];
  const userId = credential.kind === "basic" ? credentials.userId : "";
  const plan = planRequest(list, { parameters: {}, body: null, accept: "" }, reference, credential, userId);
  try {
    const { text } = await receive(plan, null, AbortSignal.timeout(15_000));
    const records = JSON.parse(text ?? "");
    return Array.isArray(records) ? records.slice(0, MAX_CHOICES).map((record) => [record[name], labelOf(record, name)]) : [];
  } catch {
    return [];
  }
}

/**
 * @param {Record<string, any>} record
 * @param {string} name
 */
function labelOf(record, name) {
  const title = NAMES.map((member) => record[member]).find((text) => typeof text === "string" && text);
  return title ? `${title} (${record[name]})` : String(record[name]);
}
