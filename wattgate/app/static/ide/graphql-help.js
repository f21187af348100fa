/** Completion and documentation in the editor of the document. */

import { element } from "../shared/dom.js";
import { CompletionPopup } from "./editor/completion-popup.js";
import { setUpHover } from "./editor/hover.js";
import { complete } from "./language/complete.js";

/** @import { CodeEditor } from "./editor/code-editor.js" */
/** @import { DocumentSymbol } from "./language/check.js" */
/** @import { Workspace } from "./workspace.js" */

/**
 * @param {CodeEditor} editor
 * @param {Workspace} workspace
 */
export function setUpGraphQLHelp(editor, workspace) {
  const popup = new CompletionPopup(editor, (text, caret, isAsked) => {
    const found = complete(text, caret, workspace.schema);
    // While somebody types, suggestions need the start of a name, or a sign after which one has to follow.
    const isUseful = isAsked || Boolean(found?.prefix) || /[@$({:.[]\s*$/.test(text.slice(0, caret));
    return found && isUseful ? found : null;
  }, /[\w@$({:.[]/);
  workspace.on("schema", () => popup.retry());
  setUpHover(editor, (offset) => {
    const problem = workspace.analysis?.problems.find(({ start, end }) => start <= offset && offset < Math.max(end, start + 1));
    const symbol = symbolAt(workspace, offset);
    return [...(problem ? [element("p", { class: "hint-problem" }, problem.message)] : []), ...(symbol ? describe(symbol) : [])];
  });
}

/**
 * @param {Workspace} workspace
 * @param {number} offset
 * @returns {DocumentSymbol | null}
 */
function symbolAt({ analysis }, offset) {
  return analysis?.symbols.find(({ start, end }) => start <= offset && offset <= end) ?? null;
}

/** @param {DocumentSymbol} symbol */
function describe({ kind, name, owner, type, description, deprecationReason }) {
  const full = kind === "field" ? `${owner}.${name}` : kind === "directive" ? `@${name}` : owner && kind !== "argument" ? `${owner}.${name}` : name;
  return [
    element("p", { class: "hint-name" }, element("code", {}, type ? `${full}: ${type}` : full)),
    ...(deprecationReason === null ? [] : [element("p", { class: "hint-problem" }, `Deprecated: ${deprecationReason}`)]),
    ...(description ? [element("p", {}, description)] : []),
  ];
}
