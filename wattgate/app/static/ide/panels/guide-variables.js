/** A document of a guide with the caller's own values. */

import { declaredVariables, operationsOf } from "../language/declared-variables.js";
import { parse } from "../language/parser.js";
import { fillVariables } from "./own-values.js";

/** @import { Schema } from "../language/schema.js" */
/** @import { Declared, OwnData } from "./own-values.js" */

/** The text in documents of the guides in place of the ID of an application. */
const APPLICATION = /"APPLICATION"/g;
/** The text in documents of the guides in place of a value that only the user knows. */
const ELLIPSIS = '"..."';

/**
 * Return the document with values for its variables. `missing` has what the user replaces before it runs.
 * @param {string} text
 * @param {OwnData} own
 * @param {Schema | null} schema
 * @param {number} now  Milliseconds since 1970.
 * @returns {{ text: string, values: Record<string, unknown>, missing: string[] }}
 */
export function prepareGuide(text, own, schema, now) {
  const filled = text.replace(APPLICATION, JSON.stringify(own.applicationId || "APPLICATION_ID"));
  const { values, missing } = fillVariables(variablesIn(filled), own, schema, now);
  return { text: filled, values, missing: filled.includes(ELLIPSIS) ? [...missing, ELLIPSIS] : missing };
}

/**
 * Return the variables that the operations of a document declare.
 * @param {string} text
 * @returns {Declared[]}
 */
export function variablesIn(text) {
  return operationsOf(parse(text).definitions).flatMap(declaredVariables);
}
