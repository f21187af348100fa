/** Completion in the editors of variables and headers. */

import { CompletionPopup } from "./editor/completion-popup.js";
import { completeHeader } from "./headers.js";
import { completeVariables, variablesOf } from "./variables.js";

/** @import { CodeEditor } from "./editor/code-editor.js" */
/** @import { Workspace } from "./workspace.js" */

/**
 * @param {CodeEditor} editor
 * @param {Workspace} workspace
 */
export function setUpVariablesHelp(editor, workspace) {
  new CompletionPopup(editor, (text, caret) => {
    const declared = variablesOf(workspace.analysis?.ast ?? [], workspace.operation?.name ?? null);
    return completeVariables(text, caret, declared, workspace.schema);
  }, /[\w"{]/);
}

/** @param {CodeEditor} editor */
export function setUpHeadersHelp(editor) {
  new CompletionPopup(editor, (text, caret) => completeHeader(text, caret), /[\w-]/);
}
