/** The note above the editor if the schema is not known: why, and what to do. */

import { element, find } from "../shared/dom.js";

/** @import { SchemaState } from "./schema-loader.js" */
/** @import { Workspace } from "./workspace.js" */

/** @param {Workspace} workspace */
export function setUpSchemaNote(workspace) {
  const note = find(document, ".schema-note");
  /** @param {SchemaState} state */
  const render = ({ status, message }) => {
    note.hidden = status === "ready" || status === "loading";
    const again = element("button", { type: "button", class: "quiet-button" }, "Try again");
    again.addEventListener("click", () => void workspace.loadSchema());
    note.replaceChildren(message, ...(status === "failed" ? [again] : []));
  };
  workspace.on("schema", render);
}
