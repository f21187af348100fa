/** The title of a document. */

import { parse } from "./language/parser.js";

/** @import { IdeDocument } from "./documents.js" */

/**
 * Return the title of a document: its own, else the name of its first operation or its first field.
 * @param {IdeDocument} one
 */
export function titleOf({ title, text }) {
  if (title) return title;
  const { definitions } = parse(text.slice(0, 20_000));
  const named = definitions.find(({ name }) => name)?.name?.value;
  if (named) return named;
  const [first] = definitions;
  const [selection] = first?.selectionSet?.selections ?? [];
  return selection && "name" in selection && selection.name ? selection.name.value : "New document";
}
