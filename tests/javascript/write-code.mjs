/** Write the code of requests in all languages, as the REST reference shows it. Reads JSON from stdin, prints JSON. */

import { text } from "node:stream/consumers";

import { namedCredential } from "../../wattgate/app/static/reference/credentials.js";
import { curlCommand } from "../../wattgate/app/static/reference/curl.js";
import { javascriptCode } from "../../wattgate/app/static/reference/javascript.js";
import { Reference } from "../../wattgate/app/static/reference/openapi.js";
import { pythonCode } from "../../wattgate/app/static/reference/python.js";
import { initialValues, planRequest } from "../../wattgate/app/static/reference/request.js";

const { document, address, samples } = JSON.parse(await text(process.stdin));
const reference = new Reference(document, new URL(address));

const written = samples.map(({ method, path, parameters = {}, body, scheme = null, accept = "" }) => {
  const operation = reference.operations.find((one) => one.method === method && one.path === path);
  const initial = initialValues(operation, reference);
  const values = { parameters: { ...initial.parameters, ...parameters }, body: body ?? initial.body, accept };
  const plan = planRequest(operation, values, reference, namedCredential(operation, reference.schemes, scheme));
  return { curl: curlCommand(plan), javascript: javascriptCode(plan), python: pythonCode(plan) };
});
console.log(JSON.stringify(written));
