/** The fields of an operation as a tree: a tick selects a field in the document, and the ticks follow the text. */

import { element, prose } from "../../shared/dom.js";
import { isRequired, namedType } from "../language/schema.js";
import { Composer } from "./compose.js";
import { hasFields } from "./field-paths.js";
import { deprecation, typeOf } from "./type-page.js";

/** @import { Field, Input, Schema, SchemaType } from "../language/schema.js" */
/** @import { Composition, OperationKind, Target } from "./compose.js" */
/** @import { Path } from "./field-paths.js" */

/**
 * The functions that the tree needs from its panel.
 * @typedef {object} TreeHost
 * @property {Schema} schema
 * @property {() => { text: string, target: Target }} read  The present text.
 * @property {(composition: Composition | null) => void} write
 * @property {(path: Path, kind: OperationKind) => Promise<string>} estimate  The cost of a root field, in words.
 */

/** A row that is shown. @typedef {{ path: Path, field: Field | null, item: HTMLElement, box: HTMLInputElement | null, args: { arg: Input, box: HTMLInputElement }[], more: HTMLElement | null }} Row */

export class ExplorerTree {
  root = element("ul", { class: "explorer-tree" });
  #host;
  #kind;
  /** @type {Row[]} */
  #rows = [];

  /**
   * @param {TreeHost} host
   * @param {OperationKind} kind
   */
  constructor(host, kind) {
    this.#host = host;
    this.#kind = kind;
    const type = host.schema.root(kind);
    if (type) this.root.append(...this.#items(type, []));
    this.update();
  }

  /** Follow the text of the document. */
  update() {
    const composer = this.#compose();
    this.#rows = this.#rows.filter(({ item }) => this.root.contains(item));
    for (const { path, box, args, item } of this.#rows) {
      if (!box) continue;
      const [found] = composer.find(path);
      box.checked = found !== undefined;
      item.classList.toggle("selected", box.checked);
      item.dataset.fragment = found?.fragment?.name?.value ?? "";
      for (const { arg, box: argBox } of args) {
        argBox.checked = Boolean(found?.node.arguments.some((one) => one.name.value === arg.name));
        argBox.disabled = !found || isRequired(arg);
      }
    }
  }

  /**
   * Show a field of the root: open it and move the focus to it.
   * @param {string} name
   */
  reveal(name) {
    const row = this.#rows.find(({ path }) => path.length === 1 && path[0] === name);
    if (!row) return;
    this.#toggle(row, true);
    row.item.scrollIntoView({ block: "nearest" });
    row.box?.focus();
  }

  #compose() {
    const { text, target } = this.#host.read();
    return new Composer(text, this.#host.schema, { ...target, kind: this.#kind });
  }

  /**
   * Return the rows of a type: its fields, and the types that it can be.
   * @param {SchemaType} type
   * @param {Path} path
   * @returns {HTMLElement[]}
   */
  #items(type, path) {
    const fields = [...type.fields.values()];
    // Deprecated fields come last, so that nobody meets them first.
    const sorted = [...fields.filter((one) => !one.deprecationReason), ...fields.filter((one) => one.deprecationReason)];
    const rows = sorted.map((field) => this.#fieldRow(field, [...path, field.name]));
    const members = type.possibleTypes.map((name) => this.#typeRow(name, [...path, `...${name}`]));
    return [...rows, ...members].map(({ item }) => item);
  }

  /**
   * @param {Field} field
   * @param {Path} path
   * @returns {Row}
   */
  #fieldRow(field, path) {
    const box = element("input", { type: "checkbox", "data-path": path.join("."), "data-testid": "field" });
    const label = element("label", { title: field.description.split("\n")[0] }, box, element("span", { class: "field-name" }, field.name));
    const row = this.#row(path, field, box, [label, typeOf(field.type), deprecation(field.deprecationReason)]);
    box.addEventListener("change", () => {
      const composer = this.#compose();
      this.#host.write(box.checked ? composer.addField(path) : composer.removeField(path));
      this.update();
    });
    return row;
  }

  /**
   * @param {string} name
   * @param {Path} path
   * @returns {Row}
   */
  #typeRow(name, path) {
    return this.#row(path, null, null, [element("span", { class: "type-condition" }, `… on ${name}`)]);
  }

  /**
   * @param {Path} path
   * @param {Field | null} field
   * @param {HTMLInputElement | null} box
   * @param {import("../../shared/dom.js").Child[]} content
   * @returns {Row}
   */
  #row(path, field, box, content) {
    const name = path[path.length - 1];
    const toggle = element("button", { type: "button", class: "expand", "aria-expanded": "false", "aria-label": `Details of ${name}`, "data-expand": path.join(".") });
    const item = element("li", {}, element("div", { class: "row" }, toggle, content));
    /** @type {Row} */
    const row = { path, field, item, box, args: [], more: null };
    toggle.addEventListener("click", () => this.#toggle(row, !row.more || row.more.hidden !== false));
    this.#rows.push(row);
    return row;
  }

  /**
   * @param {Row} row
   * @param {boolean} isOpen
   */
  #toggle(row, isOpen) {
    row.more ??= this.#more(row);
    if (!row.more.parentNode) row.item.append(row.more);
    row.more.hidden = !isOpen;
    row.item.querySelector(".expand")?.setAttribute("aria-expanded", String(isOpen));
    this.update();
  }

  /**
   * Create what a row shows when it is open: the description, the cost, the arguments and the fields below.
   * @param {Row} row
   */
  #more(row) {
    const { path, field } = row;
    const more = element("div", { class: "row-more" });
    if (field?.description) more.append(element("p", { class: "description" }, prose(field.description)));
    if (field?.deprecationReason) more.append(element("p", { class: "deprecated" }, prose(`Deprecated: ${field.deprecationReason}`)));
    if (path.length === 1) more.append(this.#cost(path));
    if (field?.args.size) more.append(this.#arguments(row, field));
    const type = this.#host.schema.type(field ? namedType(field.type) : path[path.length - 1].slice(3));
    if (type && (!field || hasFields(this.#host.schema, field))) more.append(element("ul", {}, this.#items(type, path)));
    return more;
  }

  /** @param {Path} path */
  #cost(path) {
    const text = element("p", { class: "panel-note", "data-testid": "field-cost" }, "Cost: …");
    void this.#host.estimate(path, this.#kind).then((cost) => { text.textContent = cost; });
    return text;
  }

  /**
   * @param {Row} row
   * @param {Field} field
   */
  #arguments(row, { name, args }) {
    const items = [...args.values()].map((arg) => {
      const box = element("input", { type: "checkbox", "data-arg": `${row.path.join(".")}(${arg.name})`, "data-testid": "argument" });
      box.addEventListener("change", () => {
        const composer = this.#compose();
        this.#host.write(box.checked ? composer.addArgument(row.path, arg.name) : composer.removeArgument(row.path, arg.name));
        this.update();
      });
      row.args.push({ arg, box });
      const required = isRequired(arg) ? element("span", { class: "required" }, " required") : null;
      const label = element("label", { title: arg.description }, box, element("span", { class: "arg-name" }, arg.name));
      return element("li", {}, element("div", { class: "row" }, label, typeOf(arg.type), required, deprecation(arg.deprecationReason)));
    });
    return element("ul", { class: "args", "aria-label": `Arguments of ${name}` }, items);
  }
}
