/** Loads the schema by introspection, and says what to do where the gateway hides it. */

import { toGatewayError } from "../shared/gateway.js";
import { INTROSPECTION_QUERY, Schema } from "./language/schema.js";

/** @import { GraphQLRequest, GraphQLResponse } from "./requests.js" */

/** @typedef {{ status: "loading" | "ready" | "hidden" | "failed", schema: Schema | null, message: string }} SchemaState */

const HIDDEN =
  "This gateway hides its schema, as gateways in production do. Operations run, and the gateway checks them; completion and "
  + "the explorer need the schema. To get them, use a gateway with WATTGATE_ENVIRONMENT=development.";

/**
 * Return the schema, or why there is none.
 * @param {(request: GraphQLRequest) => Promise<GraphQLResponse>} send
 * @returns {Promise<SchemaState>}
 */
export async function loadSchema(send) {
  try {
    const { status, body } = await send({ query: INTROSPECTION_QUERY });
    if (body?.data?.__schema) return { status: "ready", schema: new Schema(body.data.__schema), message: "" };
    const [error] = body?.errors ?? [];
    if (/introspection/i.test(error?.message ?? "")) return { status: "hidden", schema: null, message: HIDDEN };
    return failed(error?.message ?? `the gateway responded with status ${status}`);
  } catch (thrown) {
    return failed(toGatewayError(thrown).message);
  }
}

/**
 * @param {string} reason
 * @returns {SchemaState}
 */
function failed(reason) {
  return { status: "failed", schema: null, message: `The schema could not be loaded: ${reason.replace(/\.$/, "")}.` };
}
