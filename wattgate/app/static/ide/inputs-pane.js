/** The editors of variables and headers. */

import { closestTo, find } from "../shared/dom.js";
import { CodeEditor } from "./editor/code-editor.js";
import { highlightHeaders, highlightJson } from "./editor/highlight.js";
import { parseHeaders } from "./headers.js";
import { setUpHeadersHelp, setUpVariablesHelp } from "./input-help.js";
import { showProblems } from "./problem-list.js";
import { checkVariables, variablesOf } from "./variables.js";

/** @import { IdeDocument } from "./documents.js" */
/** @import { Problem } from "./language/ast.js" */
/** @import { Workspace } from "./workspace.js" */

export class InputsPane {
  #workspace;
  #variables;
  #headers;

  /** @param {Workspace} workspace */
  constructor(workspace) {
    this.#workspace = workspace;
    this.#variables = new CodeEditor(find(document, ".variables-editor"), {
      label: "Variables, in JSON",
      placeholder: '{ "name": "value" }',
      highlight: highlightJson,
      hasPairs: true,
      onInput: (variables) => workspace.edit({ variables }),
    });
    this.#headers = new CodeEditor(find(document, ".headers-editor"), {
      label: "Headers, one in a line",
      placeholder: "name: value",
      highlight: highlightHeaders,
      onInput: (headers) => workspace.edit({ headers }),
    });
    setUpVariablesHelp(this.#variables, workspace);
    setUpHeadersHelp(this.#headers);
    workspace.on("analysis", () => this.#check());
    workspace.on("operation", () => this.#check());
    this.#linkProblems("#variables-panel", this.#variables);
    this.#linkProblems("#headers-panel", this.#headers);
  }

  /** @param {IdeDocument} shown */
  show({ variables, headers }) {
    this.#variables.value = variables;
    this.#headers.value = headers;
    this.#check();
  }

  #check() {
    const { document: shown, analysis, operation, schema } = this.#workspace;
    const declared = variablesOf(analysis?.ast ?? [], operation?.name ?? null);
    const wrongVariables = checkVariables(shown.variables, declared, schema);
    show("variables", this.#variables, wrongVariables);
    show("headers", this.#headers, parseHeaders(shown.headers).problems);
  }

  /**
   * @param {string} panel
   * @param {CodeEditor} editor
   */
  #linkProblems(panel, editor) {
    find(document, `${panel} .input-problems`).addEventListener("click", (event) => {
      const row = closestTo(event, "[data-start]");
      const fix = closestTo(event, "[data-fix]")?.dataset.fix;
      if (!row) return;
      const [start, end] = [Number(row.dataset.start), Number(row.dataset.end)];
      if (fix === undefined) editor.goTo(start, end);
      else editor.apply({ start, end, text: fix, selectionStart: start + fix.length, selectionEnd: start + fix.length });
    });
  }
}

/**
 * @param {string} name
 * @param {CodeEditor} editor
 * @param {Problem[]} problems
 */
function show(name, editor, problems) {
  editor.setProblems(problems);
  showProblems(find(document, `#${name}-panel .input-problems`), problems, editor.value);
  find(document, `#${name}-tab`).classList.toggle("wrong", problems.length > 0);
}
