/** The pane of the document: its editor, the toolbar and the list of problems. */

import { closestTo, element, find, findAs } from "../shared/dom.js";
import { analyze, findOperation } from "./analysis.js";
import { DryRun } from "./dry-run.js";
import { CodeEditor } from "./editor/code-editor.js";
import { highlightGraphQL } from "./editor/highlight.js";
import { offsetOf } from "./editor/positions.js";
import { setUpGraphQLHelp } from "./graphql-help.js";
import { format } from "./language/printer.js";
import { showProblems } from "./problem-list.js";
import { describeCost } from "./response-facts.js";

/** @import { IdeDocument } from "./documents.js" */
/** @import { Problem } from "./language/ast.js" */
/** @import { Runner } from "./runner.js" */
/** @import { Workspace } from "./workspace.js" */

const PLACEHOLDER = "Write a query, for example:\n{ viewer { homes { edges { node { name } } } } }\nCtrl+Space suggests, Ctrl+Enter runs.";
/** Characters above which a document is analysed after a pause in the typing, and that pause in milliseconds. */
const [LARGE, LARGE_PAUSE] = [20_000, 250];

export class DocumentPane {
  /** @type {CodeEditor} */
  editor;
  #workspace;
  #runner;
  #dryRun;
  #root = find(document, ".document");
  #select = findAs(document, ".operation-choice select", HTMLSelectElement);
  #timer = 0;
  /**
   * Problems that the gateway found in the present text.
   * @type {Problem[]}
   */
  #remote = [];

  /**
   * @param {Workspace} workspace
   * @param {Runner} runner
   */
  constructor(workspace, runner) {
    this.#workspace = workspace;
    this.#runner = runner;
    this.#dryRun = new DryRun(workspace);
    this.editor = new CodeEditor(find(document, ".query-editor"), {
      label: "GraphQL document",
      placeholder: PLACEHOLDER,
      highlight: highlightGraphQL,
      hasPairs: true,
      onInput: (text) => this.#workspace.edit({ text }),
      onCaret: () => this.#chooseOperation(),
    });
    setUpGraphQLHelp(this.editor, workspace);
    workspace.on("edit", ({ text }) => {
      clearTimeout(this.#timer);
      if (text.length > LARGE) this.#timer = setTimeout(() => this.#analyze(), LARGE_PAUSE);
      else this.#analyze();
    });
    workspace.on("schema", () => this.#analyze());
    workspace.on("cost", (cost) => { find(this.#root, ".cost").textContent = cost ? describeCost(cost) : ""; });
    workspace.on("dry-run", ({ errors }) => this.#showRemote(errors));
    this.#setUpToolbar();
    this.#setUpKeys();
    for (const event of ["run", "response", "refused", "stopped", "idle"]) workspace.on(event, () => this.#renderRun());
  }

  /** @param {IdeDocument} shown */
  show({ text }) {
    this.editor.value = text;
    this.#analyze();
  }

  format() {
    const formatted = format(this.editor.value);
    if (formatted === null) {
      this.#workspace.notify("The document has a syntax error. Correct it, then format.", { severity: "error" });
    } else {
      this.editor.replaceAll(formatted);
    }
  }

  #setUpToolbar() {
    find(this.#root, ".run").addEventListener("click", () => {
      if (this.#runner.isRunning) this.#runner.stop();
      else void this.#runner.run();
    });
    find(this.#root, ".format").addEventListener("click", () => this.format());
    this.#select.addEventListener("change", () => {
      this.#workspace.chooseOperation(this.#select.value || null);
    });
    find(this.#root, ".problems").addEventListener("click", (event) => {
      const fix = closestTo(event, "[data-fix]");
      const row = closestTo(event, "[data-start]");
      if (!row) return;
      const [start, end] = [Number(row.dataset.start), Number(row.dataset.end)];
      if (fix) this.#applyFix(start, end, fix.dataset.fix ?? "");
      else this.editor.goTo(start, end);
    });
  }

  #setUpKeys() {
    document.addEventListener("keydown", (event) => {
      const isInDialog = event.target instanceof Element && event.target.closest("dialog");
      if (isInDialog || event.isComposing) return;
      if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
        event.preventDefault();
        void this.#runner.run();
      } else if (event.shiftKey && event.altKey && event.code === "KeyF") {
        event.preventDefault();
        this.format();
      } else if (event.key === "F8") {
        event.preventDefault();
        this.#goToNextProblem();
      }
    });
  }

  /**
   * @param {number} start
   * @param {number} end
   * @param {string} text
   */
  #applyFix(start, end, text) {
    this.editor.apply({ start, end, text, selectionStart: start + text.length, selectionEnd: start + text.length });
  }

  #goToNextProblem() {
    const problems = this.#problems();
    const next = problems.find(({ start }) => start > this.editor.caret) ?? problems[0];
    if (next) this.editor.goTo(next.start, next.start);
  }

  #analyze() {
    const { document: { text }, schema, analysis: before } = this.#workspace;
    const isSame = before?.text === text && before.schema === schema;
    const analysis = isSame ? before : analyze(text, schema);
    if (before?.text !== text) this.#remote = [];
    this.#workspace.analysis = analysis;
    this.#chooseOperation();
    if (!isSame) this.#renderProblems();
    this.#workspace.emit("analysis", analysis);
    this.#dryRun.schedule(analysis);
  }

  #chooseOperation() {
    const { analysis, document: shown, operation: before } = this.#workspace;
    if (!analysis) return;
    const caret = document.activeElement === this.editor.area ? this.editor.caret : -1;
    // While another editor has the focus, the last operation stays chosen.
    const chosen = shown.operationName ?? (caret < 0 ? before?.name ?? null : null);
    const operation = findOperation(analysis.operations, chosen, caret);
    this.#workspace.operation = operation;
    this.#renderOperations();
    if (operation?.name !== before?.name || operation?.kind !== before?.kind) this.#workspace.emit("operation", operation);
  }

  #renderOperations() {
    const { analysis, operation, document: shown } = this.#workspace;
    const named = (analysis?.operations ?? []).filter(({ name }) => name !== null);
    find(document, ".operation-choice").hidden = named.length < 2;
    if (named.length < 2) return;
    const key = JSON.stringify([named.map(({ name }) => name), operation?.name, shown.operationName]);
    if (this.#select.dataset.key === key) return;
    this.#select.dataset.key = key;
    this.#select.replaceChildren(...named.map(({ name }) => {
      return element("option", { value: name, selected: name === operation?.name }, name);
    }));
    this.#select.value = operation?.name ?? "";
  }

  /** @returns {Problem[]} */
  #problems() {
    const local = this.#workspace.analysis?.problems ?? [];
    return local.length ? local : this.#remote;
  }

  #renderProblems() {
    const problems = this.#problems();
    this.editor.setProblems(problems);
    showProblems(find(this.#root, ".problems"), problems, this.editor.value);
  }

  /** @param {{ message: string, locations?: { line: number, column: number }[] }[]} errors */
  #showRemote(errors) {
    const text = this.editor.value;
    this.#remote = errors.flatMap(({ message, locations }) => {
      const [position] = locations ?? [];
      if (!position) return [];
      const start = offsetOf(text, position);
      const [word] = /^[\w$@.]+/.exec(text.slice(start)) ?? [" "];
      return [{ start, end: start + word.length, message }];
    });
    this.#renderProblems();
  }

  #renderRun() {
    const button = find(this.#root, ".run");
    const { isRunning } = this.#runner;
    button.classList.toggle("running", isRunning);
    find(button, "span").textContent = isRunning ? "Stop" : "Run";
    button.title = isRunning ? "Stop" : "Run (Ctrl+Enter)";
  }
}
