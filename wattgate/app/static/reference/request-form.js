/** The form of an operation: its parameters and its body, each described beside its field. */

import { element, find, findAll } from "../shared/dom.js";
import { BodyEditor } from "./body-editor.js";
import { createControl, readControl } from "./field-control.js";
import { fieldRow } from "./field-row.js";
import { idChoice } from "./id-choice.js";
import { initialValues, parameterKey } from "./request.js";

/** @import { Credentials } from "./credentials.js" */
/** @import { Operation, Parameter, Reference } from "./openapi.js" */
/** @import { FormValues, Problem } from "./request.js" */
/** @import { Control } from "./field-control.js" */

const TITLES = { path: "Path parameters", query: "Query parameters", header: "Headers" };

export class RequestForm {
  /** @type {Map<string, Control>} */
  #controls = new Map();
  /** @type {BodyEditor | null} */
  #body = null;
  /** @type {HTMLSelectElement | null} */
  #accept = null;

  /**
   * @param {Operation} operation
   * @param {{ reference: Reference, credentials: Credentials }} page
   * @param {Record<string, string>} presets  Values by `parameterKey` in place of examples.
   * @param {{ onChange: () => void, onSubmit: () => void }} handlers
   */
  constructor(operation, page, presets, { onChange, onSubmit }) {
    const { reference } = page;
    const initial = initialValues(operation, reference);
    /** @param {Parameter} parameter */
    const row = (parameter) => {
      const key = parameterKey(parameter);
      return this.#row(operation, parameter, initial.parameters[key] || (presets[key] ?? ""), page);
    };
    const lists = Object.entries(TITLES).flatMap(([place, title]) => {
      const rows = operation.parameters.filter((parameter) => parameter.in === place).map(row);
      return rows.length ? [group(title, rows)] : [];
    });
    if (operation.bodies.length) this.#body = new BodyEditor(operation, reference, onChange);
    /** @type {HTMLElement} */
    this.root = element(
      "form",
      { class: "request-form", method: "post", novalidate: true },
      lists,
      this.#body?.root ?? null,
      this.#acceptRow(operation),
      element("button", { type: "submit", hidden: true }), // so that Enter in a field sends the request
    );
    this.root.addEventListener("submit", (event) => {
      event.preventDefault();
      onSubmit();
    });
    this.root.addEventListener("input", () => onChange());
    this.root.addEventListener("change", () => onChange());
  }

  /**
   * The values of the form as they are now.
   * @returns {FormValues}
   */
  get values() {
    const parameters = Object.fromEntries([...this.#controls].map(([key, control]) => [key, readControl(control)]));
    return { parameters, body: this.#body?.value ?? null, accept: this.#accept?.value ?? "" };
  }

  /**
   * The file that the user chose for the body, or null.
   * @returns {File | null}
   */
  get file() {
    return this.#body?.file ?? null;
  }

  /**
   * Show each problem beside its field and move the focus to the first one.
   * @param {Problem[]} problems
   */
  showProblems(problems) {
    for (const line of findAll(this.root, ".problem")) {
      line.hidden = true;
      line.textContent = "";
    }
    for (const invalid of findAll(this.root, "[aria-invalid]")) invalid.removeAttribute("aria-invalid");
    for (const { key, message } of problems.toReversed()) {
      const field = find(this.root, `[data-key="${key}"]`);
      const line = find(field, ":scope > .problem");
      line.textContent = message;
      line.hidden = false;
      const control = field.querySelector(":scope > :is(input, select, textarea):not([hidden])");
      control?.setAttribute("aria-invalid", "true");
      if (control instanceof HTMLElement) control.focus();
    }
  }

  /**
   * @param {Operation} operation
   * @param {Parameter} parameter
   * @param {string} value
   * @param {{ reference: Reference, credentials: Credentials }} page
   */
  #row(operation, parameter, value, page) {
    const { reference } = page;
    const { name, schema, required = false, description, example } = parameter;
    const key = parameterKey(parameter);
    const control = createControl({ name, schema, required, value, example }, reference);
    this.#controls.set(key, control);
    const row = fieldRow({ id: `${operation.id}-${key}`, key, name, schema, required, description, control }, reference);
    const choice = parameter.in === "header" ? null : idChoice(name, page, (id) => setControl(control, id));
    if (choice) control.after(choice);
    return row;
  }

  /** @param {Operation} operation */
  #acceptRow({ id, responses }) {
    const media = [...new Set(responses.flatMap(({ contents }) => contents.map((content) => content.media)))];
    if (media.length < 2) return null;
    this.#accept = element("select", { id: `${id}-accept`, "data-testid": "accept" });
    this.#accept.append(...media.map((one, index) => new Option(one, index ? one : "")));
    const label = element("label", { class: "signature", for: `${id}-accept` }, "Format of the response");
    return element("div", { class: "field" }, label, this.#accept);
  }
}

/**
 * Set the value of an input as if the user had entered it.
 * @param {Control} control
 * @param {string} value
 */
function setControl(control, value) {
  control.value = value;
  control.dispatchEvent(new Event("input", { bubbles: true }));
}

/**
 * @param {string} title
 * @param {HTMLElement[]} rows
 */
function group(title, rows) {
  return element("section", { class: "part" }, element("h4", {}, title), element("div", { class: "fields" }, rows));
}
