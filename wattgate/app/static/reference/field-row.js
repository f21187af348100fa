/** The row of a field: its name and type, its input, and what it means. */

import { element, prose } from "../shared/dom.js";
import { describeSchema, isBinary, limitsSentence } from "./schema.js";
import { signature } from "./tree.js";

/** @import { Control } from "./field-control.js" */
/** @import { Reference, SchemaNode } from "./openapi.js" */

/**
 * Create the row of a field.
 * @param {{ id: string, key: string, name: string, schema: SchemaNode, required: boolean, description?: string,
 *   control: Control }} field
 * @param {Reference} reference
 * @returns {HTMLElement}
 */
export function fieldRow({ id, key, name, schema, required, description, control }, reference) {
  const described = describeSchema(schema, reference);
  const meaning = description || described.description || "";
  const text = [meaning, limitsSentence(described.limits, meaning)].filter(Boolean).join(" ");
  control.id = id;
  control.setAttribute("aria-describedby", `${id}-help ${id}-problem`);
  const type = isBinary(schema) ? "binary" : described.type;
  return element(
    "div",
    { class: "field", "data-key": key },
    element("label", { for: id }, signature(name, type, required, "span")),
    control,
    element("p", { class: "remark", id: `${id}-help` }, prose(text)),
    element("p", { class: "problem", id: `${id}-problem`, "data-testid": "field-problem", hidden: true }),
  );
}
