/** The panel that explores the schema: search, the tree that composes the document, and the pages of types. */

import { closestTo, element } from "../../shared/dom.js";
import { formatCount } from "../../shared/quantities.js";
import { Composer } from "./compose.js";
import { ExplorerTree } from "./explorer-tree.js";
import { variablesIn } from "./guide-variables.js";
import { ownData } from "./own-data.js";
import { fillVariables } from "./own-values.js";
import { nameOf, searchSchema } from "./schema-search.js";
import { typeButton, typePage } from "./type-page.js";

/** @import { Schema } from "../language/schema.js" */
/** @import { Workspace } from "../workspace.js" */
/** @import { Composition, OperationKind } from "./compose.js" */
/** @import { Path } from "./field-paths.js" */
/** @import { Hit } from "./schema-search.js" */

/** @type {[OperationKind, string][]} */
const ROOTS = [["query", "Query"], ["mutation", "Mutation"], ["subscription", "Subscription"]];

/** @type {import("../workspace.js").Panel} */
export const explorerPanel = {
  id: "explorer",
  title: "Explorer",
  icon: "M4 6h9M4 12h13M4 18h7M17 6h3M20 12h0M15 18h5",
  mount: (root, workspace) => {
    const view = new ExplorerView(root, workspace);
    return { shown: (detail) => view.show(detail) };
  },
};

class ExplorerView {
  #workspace;
  /** @type {Schema | null} */
  #schema = null;
  /** @type {OperationKind} */
  #kind = "query";
  /** @type {ExplorerTree | null} */
  #tree = null;
  /** The pages that the user came from. @type {{ type: string, member: string | null }[]} */
  #trail = [];
  /** @type {Map<string, Promise<string>>} */
  #costs = new Map();
  #search = element("input", { type: "search", placeholder: "Types and fields", "aria-label": "Search the schema", "data-testid": "schema-search" });
  #roots = element("div", { class: "root-choice", role: "group", "aria-label": "Root type" });
  #body = element("div", { class: "explorer-body" });

  /**
   * @param {HTMLElement} root
   * @param {Workspace} workspace
   */
  constructor(root, workspace) {
    this.#workspace = workspace;
    root.classList.add("explorer-panel");
    this.#roots.append(...ROOTS.map(([kind, label]) => this.#rootButton(kind, label)));
    root.append(element("div", { class: "panel-search" }, this.#search, this.#roots), this.#body);
    this.#search.addEventListener("input", () => this.#showHits());
    this.#body.addEventListener("click", (event) => this.#follow(event));
    workspace.on("schema", () => this.#load());
    workspace.on("session", () => this.#costs.clear());
    for (const event of ["analysis", "operation"]) workspace.on(event, () => this.#tree?.update());
    const kind = workspace.operation?.kind;
    if (kind) this.#kind = kind;
    this.#load();
  }

  /**
   * Show the page of a type, if the detail names one.
   * @param {unknown} detail
   */
  show(detail) {
    const { type, member } = /** @type {{ type?: string, member?: string }} */ (detail ?? {});
    if (type) this.#openType(type, member ?? null);
  }

  /**
   * @param {OperationKind} kind
   * @param {string} label
   */
  #rootButton(kind, label) {
    const button = element("button", { type: "button", "data-kind": kind, "data-testid": `root-${kind}` }, label);
    button.addEventListener("click", () => this.#openRoot(kind));
    return button;
  }

  #load() {
    const { status, schema, message } = this.#workspace.schemaState;
    if (schema === this.#schema && schema) return;
    this.#schema = schema;
    this.#costs.clear();
    if (schema) {
      const typed = this.#search.value; // while the schema was loading
      this.#openRoot(this.#kind);
      this.#search.value = typed;
      if (typed) this.#showHits();
    } else this.#body.replaceChildren(element("p", { class: "panel-note", "data-testid": "no-schema" }, status === "loading" ? "Loading the schema…" : message));
  }

  /** @param {OperationKind} kind */
  #openRoot(kind) {
    if (!this.#schema) return;
    this.#kind = kind;
    this.#trail = [];
    this.#search.value = "";
    for (const button of this.#roots.children) {
      button.setAttribute("aria-pressed", String(button instanceof HTMLElement && button.dataset.kind === kind));
    }
    const { schema } = this.#workspace;
    if (!schema) return;
    this.#tree = new ExplorerTree({
      schema,
      read: () => ({ text: this.#workspace.document.text, target: { kind, name: this.#nameOf(kind) } }),
      write: (composition) => void this.#write(composition),
      estimate: (path, of) => this.#estimate(path, of),
    }, kind);
    this.#body.replaceChildren(this.#tree.root);
  }

  /** @param {OperationKind} kind */
  #nameOf(kind) {
    const { operation } = this.#workspace;
    return operation?.kind === kind ? operation.name : null;
  }

  /** @param {Composition | null} composition */
  async #write(composition) {
    if (!composition) {
      this.#workspace.notify("Correct the syntax of the document first.", { severity: "error" });
      return;
    }
    const { text, operationName, added, removed } = composition;
    const focused = document.activeElement;
    this.#workspace.replaceText(text);
    // The editor takes the focus for the change. Somebody who ticks fields by keyboard goes on where they were.
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
    if (operationName && operationName !== this.#workspace.operation?.name) this.#workspace.chooseOperation(operationName);
    if (added.length || removed.length) await this.#changeVariables(added.map(({ name }) => name), removed);
  }

  /**
   * Give new variables values of the caller, and remove those that the operation no longer has.
   * @param {string[]} added
   * @param {string[]} removed
   */
  async #changeVariables(added, removed) {
    const { document: edited } = this.#workspace;
    const own = added.length ? await ownData(this.#workspace) : null;
    // The user may have changed the tab or the text in the meantime.
    if (this.#workspace.document !== edited) return;
    const present = readObject(edited.variables);
    if (!present) return;
    for (const name of removed) delete present[name];
    if (own) {
      const declared = variablesIn(edited.text).filter(({ name }) => added.includes(name) && !(name in present));
      const { values, missing } = fillVariables(declared, own, this.#schema, Date.now());
      Object.assign(present, values);
      if (missing.length) this.#workspace.notify(`Fill in the variable${missing.length > 1 ? "s" : ""} ${missing.join(", ")}.`);
    }
    this.#workspace.setVariables(Object.keys(present).length ? JSON.stringify(present, null, 2) : "");
  }

  /**
   * Return what a root field costs with its first fields.
   * @param {Path} path
   * @param {OperationKind} kind
   * @returns {Promise<string>}
   */
  #estimate(path, kind) {
    const key = JSON.stringify([kind, path, this.#workspace.requestHeaders()]);
    const known = this.#costs.get(key);
    if (known) return known;
    const asked = this.#ask(path, kind);
    this.#costs.set(key, asked);
    // Without an answer, the next look at the field asks again.
    void asked.then((text) => text || this.#costs.delete(key));
    return asked;
  }

  /**
   * @param {Path} path
   * @param {OperationKind} kind
   */
  async #ask(path, kind) {
    const { schema } = this.#workspace;
    const composition = schema && new Composer("", schema, { kind }).addField(path);
    if (!schema || !composition) return "";
    const own = await ownData(this.#workspace);
    const { values } = fillVariables(variablesIn(composition.text), own, schema, Date.now());
    try {
      const received = await this.#workspace.dryRun({ query: composition.text, variables: values });
      const cost = received?.body?.extensions?.cost?.estimated;
      return cost === undefined ? "" : `Costs ${formatCount(cost)} units with its first fields.`;
    } catch {
      return "";
    }
  }

  #showHits() {
    const { value } = this.#search;
    if (!this.#schema) return;
    if (!value.trim()) {
      this.#openRoot(this.#kind);
      return;
    }
    const hits = searchSchema(this.#schema, value);
    const count = element("p", { class: "panel-note", role: "status", "data-testid": "hit-count" }, hits.length ? `${hits.length} found` : "Nothing found");
    this.#body.replaceChildren(count, element("ul", { class: "hits" }, hits.map(hitItem)));
  }

  /** @param {MouseEvent} event */
  #follow(event) {
    const button = closestTo(event, "[data-type]");
    if (button?.dataset.type) this.#openType(button.dataset.type, button.dataset.member ?? null);
    if (closestTo(event, ".back")) this.#back();
  }

  /**
   * @param {string} name
   * @param {string | null} member
   */
  #openType(name, member) {
    const root = ROOTS.find(([kind]) => this.#schema?.[kind] === name);
    if (root) {
      this.#openRoot(root[0]);
      if (member) this.#tree?.reveal(member);
      return;
    }
    this.#trail.push({ type: name, member });
    this.#showType();
  }

  #back() {
    this.#trail.pop();
    if (this.#trail.length) this.#showType();
    else if (this.#search.value) this.#showHits();
    else if (this.#tree) this.#body.replaceChildren(this.#tree.root);
  }

  #showType() {
    const { type: name, member } = this.#trail[this.#trail.length - 1];
    const type = this.#schema?.type(name);
    if (!this.#schema || !type) return;
    const back = element("button", { type: "button", class: "quiet-button back", "data-testid": "back" }, "‹ Back");
    this.#body.replaceChildren(back, typePage(this.#schema, type, member));
    back.focus({ preventScroll: true });
    this.#body.querySelector(".found")?.scrollIntoView({ block: "nearest" });
  }
}

/** @param {Hit} hit */
function hitItem(hit) {
  const button = typeButton(hit.type.name, hit.member, nameOf(hit));
  button.dataset.testid = "hit";
  const text = hit.description.split("\n")[0];
  return element("li", { class: hit.isDeprecated ? "is-deprecated" : null }, button, text ? element("p", { class: "description" }, text) : null);
}

/**
 * Return an object of JSON. Null if the text is not one, such as while it is typed.
 * @param {string} text
 * @returns {Record<string, unknown> | null}
 */
function readObject(text) {
  try {
    const value = JSON.parse(text.trim() || "{}");
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
