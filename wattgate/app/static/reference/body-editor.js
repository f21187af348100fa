/** The body of a request: fields for an object of plain values, a text of JSON, or a file. */

import { element } from "../shared/dom.js";
import { fieldText, fieldValue, plainMembers } from "./body-fields.js";
import { createControl, plainSchema, readControl } from "./field-control.js";
import { fieldRow } from "./field-row.js";
import { initialBody } from "./request.js";
import { schemaTree } from "./tree.js";

/** @import { Content, Operation, Reference } from "./openapi.js" */
/** @import { BodyValue } from "./request.js" */
/** @import { Control } from "./field-control.js" */
/** @import { Member } from "./schema.js" */

const MAX_ROWS = 24;

export class BodyEditor {
  /** @type {Operation} */
  #operation;
  /** @type {Reference} */
  #reference;
  /** @type {() => void} */
  #onChange;
  /** @type {Content} */
  #content;
  /** @type {Member[]} */
  #members = [];
  /** @type {Map<string, Control>} */
  #controls = new Map();
  #showsFields = false;
  #text = element("textarea", { "data-testid": "body", class: "body-text", autocomplete: "off", autocapitalize: "none" });
  #file = element("input", { type: "file", "data-testid": "body-file" });
  #fields = element("div", { class: "fields" });
  #toggle = element("button", { type: "button", class: "quiet-button", "data-testid": "toggle-body" });
  #tree = element("div", { class: "body-tree" });

  /**
   * @param {Operation} operation
   * @param {Reference} reference
   * @param {() => void} onChange
   */
  constructor(operation, reference, onChange) {
    this.#operation = operation;
    this.#reference = reference;
    this.#onChange = onChange;
    this.#content = operation.bodies[0];
    const id = `${operation.id}-body`;
    this.#text.id = id;
    this.#text.spellcheck = false;
    this.#text.setAttribute("aria-label", "Body as JSON");
    this.#text.setAttribute("aria-describedby", `${id}-problem`);
    this.#file.setAttribute("aria-label", "File for the body");
    this.#toggle.addEventListener("click", () => this.#switch());
    const media = this.#mediaChoice();
    /** @type {HTMLElement} */
    this.root = element(
      "section",
      { class: "part", "data-key": "body" },
      element("h4", {}, element("span", {}, "Body", operation.bodyRequired ? requiredMark() : null), media),
      this.#toggle,
      this.#fields,
      this.#text,
      this.#file,
      element("p", { class: "problem", id: `${id}-problem`, "data-testid": "body-problem", hidden: true }),
      this.#tree,
    );
    this.#choose(this.#content);
  }

  /**
   * The body as the form has it now.
   * @returns {BodyValue}
   */
  get value() {
    const { media } = this.#content;
    if (!this.#file.hidden) return { kind: "file", media, name: this.#file.files?.[0]?.name ?? "" };
    if (media.includes("form-urlencoded")) {
      const pairs = [...this.#controls].map(([name, control]) => /** @type {[string, string]} */ ([name, readControl(control)]));
      return { kind: "form", media, pairs };
    }
    return { kind: "json", media, text: this.#showsFields ? this.#textOfFields() : this.#text.value };
  }

  /**
   * The chosen file, or null.
   * @returns {File | null}
   */
  get file() {
    return this.#file.hidden ? null : (this.#file.files?.[0] ?? null);
  }

  #mediaChoice() {
    const { bodies } = this.#operation;
    if (bodies.length === 1) return element("small", {}, bodies[0].media);
    const select = element("select", { "aria-label": "Format of the body", "data-testid": "body-media" });
    select.append(...bodies.map(({ media }) => new Option(media)));
    select.addEventListener("change", () => this.#choose(bodies[select.selectedIndex]));
    return select;
  }

  /** @param {Content} content */
  #choose(content) {
    this.#content = content;
    const initial = initialBody(content, this.#reference);
    this.#members = initial.kind === "file" ? [] : plainMembers(content, this.#reference);
    this.#file.hidden = initial.kind !== "file";
    this.#tree.replaceChildren(...(initial.kind === "file" ? [] : [schemaTree(content.schema, this.#reference)]));
    this.#toggle.hidden = initial.kind !== "json" || this.#members.length === 0;
    this.#text.hidden = initial.kind !== "json";
    if (initial.kind === "json") this.#text.value = initial.text;
    this.#show(this.#members.length > 0, initial.kind === "form" ? Object.fromEntries(initial.pairs) : null);
  }

  /**
   * Show the fields or the text.
   * @param {boolean} fields
   * @param {Record<string, unknown> | null} values  Of the fields. Null takes those of the text.
   */
  #show(fields, values = null) {
    this.#showsFields = fields;
    this.#fields.hidden = !fields;
    this.#text.hidden = fields || !this.#file.hidden;
    this.#tree.hidden = fields;
    this.#toggle.textContent = fields ? "Edit as JSON" : "Edit as fields";
    if (fields) this.#fillFields(values ?? parseObject(this.#text.value) ?? {});
    this.#text.rows = Math.min(MAX_ROWS, this.#text.value.split("\n").length + 1);
  }

  #switch() {
    if (this.#showsFields) {
      this.#text.value = this.#textOfFields();
      this.#show(false);
      this.#text.focus();
    } else {
      if (!parseObject(this.#text.value || "{}")) return; // the problem is shown when the request is sent
      this.#show(true);
    }
    this.#onChange();
  }

  /** @param {Record<string, unknown>} values */
  #fillFields(values) {
    this.#controls.clear();
    const rows = this.#members.map(({ member, schema, required }) => {
      const value = fieldText(values[member]);
      const control = createControl({ name: member, schema, required, value }, this.#reference);
      this.#controls.set(member, control);
      const id = `${this.#operation.id}-body-${member}`;
      const { description } = schema;
      return fieldRow({ id, key: `body.${member}`, name: member, schema, required, description, control }, this.#reference);
    });
    this.#fields.replaceChildren(...rows);
  }

  #textOfFields() {
    const given = parseObject(this.#text.value) ?? {};
    const known = new Set(this.#members.map(({ member }) => member));
    const others = Object.entries(given).filter(([name]) => !known.has(name));
    const entries = this.#members.flatMap(({ member, schema }) => {
      const control = this.#controls.get(member);
      const text = control ? readControl(control) : "";
      return text ? [[member, fieldValue(text, plainSchema(schema, this.#reference))]] : [];
    });
    return JSON.stringify(Object.fromEntries([...others, ...entries]), null, 2);
  }
}

function requiredMark() {
  return element("span", { class: "required" }, " required");
}

/**
 * @param {string} text
 * @returns {Record<string, unknown> | null}
 */
function parseObject(text) {
  try {
    const value = JSON.parse(text || "{}");
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
