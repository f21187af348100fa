/** The REST reference: the request of a form, and its code in each language. A browser test runs the code. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { curlCommand } from "../../wattgate/app/static/reference/curl.js";
import { javascriptCode } from "../../wattgate/app/static/reference/javascript.js";
import { pythonCode } from "../../wattgate/app/static/reference/python.js";
import {
  findProblems,
  fullAddress,
  hasSecrets,
  hideSecrets,
  initialBody,
  initialValues,
  planRequest,
} from "../../wattgate/app/static/reference/request.js";
import { reference } from "./reference-document.mjs";

const [read, record] = reference.operations;
const TOKEN = { kind: "token", header: "token", token: null };
const BASIC = { kind: "basic", username: null, password: null };
const values = initialValues(read, reference);

describe("request", () => {
  test("starts with the examples of the document", () => {
    const parameters = { "path.resourceId": "", "query.period": "PT30M", "query.offset": "", "query.veId": "", "header.X-Access-Purpose": "" };
    assert.deepEqual(values, { parameters, body: null, accept: "" });
    const { body } = initialValues(record, reference);
    assert.deepEqual(body, { kind: "json", media: "application/json", text: '{\n  "text": "string"\n}' });
  });

  test("encodes the path, and names what is missing", () => {
    const plan = planRequest(read, { ...values, parameters: { ...values.parameters, "path.resourceId": "a/b c?" } }, reference, TOKEN);
    assert.equal(fullAddress(plan), "https://gateway.example/api/v0-1/resource/a%2Fb%20c%3F/readings?period=PT30M");
    const { address } = planRequest(read, values, reference, TOKEN);
    assert.equal(address, "https://gateway.example/api/v0-1/resource/RESOURCE_ID/readings");
  });

  test("says what cannot be sent", () => {
    const problems = (parameters) => findProblems(read, { ...values, parameters }).map(({ message }) => message);
    assert.deepEqual(problems({}), ["Enter resourceId.", "Enter veId."]);
    const odd = { "path.resourceId": "..", "query.veId": "x", "header.X-Access-Purpose": "naïve\n" };
    assert.deepEqual(problems(odd), [
      "resourceId cannot be .. in an address.",
      "X-Access-Purpose is a header, which takes only ASCII.",
    ]);
  });

  test("says what is wrong with a body", () => {
    const media = "application/json";
    const problem = (body) => findProblems(record, { parameters: { "path.resourceId": "x" }, body, accept: "" })[0]?.message;
    assert.match(problem({ kind: "json", media, text: "{" }), /^The body is not JSON: /);
    assert.equal(problem({ kind: "json", media, text: " " }), "Enter a body.");
    assert.equal(problem({ kind: "file", media, name: "" }), "Choose a file for the body.");
    assert.equal(problem({ kind: "json", media, text: "{}" }), undefined);
  });

  test("hides the secrets of a form", () => {
    const schema = { type: "object", properties: { username: { type: "string" }, password: { type: "string" } } };
    const content = { media: "application/json", schema, example: { username: "ada", password: "p" } };
    const operation = { ...record, bodies: [content] };
    const plan = planRequest(operation, { parameters: {}, body: initialBody(content, reference), accept: "" }, reference, BASIC);
    assert.equal(hasSecrets(plan, operation, reference), true);
    assert.deepEqual(JSON.parse(hideSecrets(plan, operation, reference).body.text), { username: "ada", password: "YOUR_SECRET" });
    assert.equal(hasSecrets({ ...plan, body: null }, operation, reference), false);
    const shown = (text) => hideSecrets({ ...plan, body: { ...plan.body, text } }, operation, reference).body.text;
    assert.equal(shown('{"change": [{"newToken": "t"}], "size": 1.50}'), '{"change": [{"newToken": "YOUR_SECRET"}], "size": 1.50}');
    assert.equal(shown('{"password": "being typed'), '{"password": "YOUR_SECRET"', "also while it is not JSON");
    const pairs = [["refresh_token", "t"], ["grant_type", "g"], ["code_verifier", ""]];
    const form = hideSecrets({ ...plan, query: [["token", "t"]], headers: [["X-Api-Key", "k"]], body: { kind: "form", pairs } }, operation, reference);
    assert.deepEqual([form.query, form.headers], [[["token", "YOUR_SECRET"]], [["X-Api-Key", "YOUR_SECRET"]]]);
    assert.deepEqual(form.body.pairs, [["refresh_token", "YOUR_SECRET"], ["grant_type", "g"], ["code_verifier", ""]]);
  });
});

describe("code of a request with parameters", () => {
  const filled = { ...values.parameters, "path.resourceId": "it's $x", "header.X-Access-Purpose": 'a "b"' };
  const plan = planRequest(read, { ...values, parameters: filled }, reference, TOKEN);

  test("curl", () => {
    assert.equal(
      curlCommand(plan),
      [
        `curl -G 'https://gateway.example/api/v0-1/resource/it'\\''s%20%24x/readings'`,
        "--data-urlencode 'period=PT30M'",
        `-H 'X-Access-Purpose: a "b"'`,
        '-H "token: $WATTGATE_TOKEN"',
      ].join(" \\\n  "),
    );
  });

  test("JavaScript", () => {
    assert.equal(
      javascriptCode(plan),
      `const url = new URL("https://gateway.example/api/v0-1/resource/it's%20%24x/readings");
url.searchParams.append("period", "PT30M");

const response = await fetch(url, {
  headers: {
    "X-Access-Purpose": "a \\"b\\"",
    token: process.env.WATTGATE_TOKEN,
  },
});
console.log(response.status, await response.text());`,
    );
  });

  test("Python", () => {
    assert.equal(
      pythonCode(plan),
      `import os

import httpx  # pip install httpx

response = httpx.request(
    "GET",
    "https://gateway.example/api/v0-1/resource/it's%20%24x/readings",
    params=[
        ("period", "PT30M"),
    ],
    headers={
        "X-Access-Purpose": "a \\"b\\"",
        "token": os.environ["WATTGATE_TOKEN"],
    },
    timeout=30,
)
print(response.status_code, response.text)`,
    );
  });
});

describe("code of a request with a body and a binary response", () => {
  const given = initialValues(record, reference);
  given.parameters["path.resourceId"] = "x";
  const plan = planRequest(record, given, reference, BASIC);

  test("curl", () => {
    assert.equal(
      curlCommand(plan),
      [
        "curl 'https://gateway.example/api/v0-1/resource/x/readings'",
        '-u "$WATTGATE_USERNAME:$WATTGATE_PASSWORD"',
        "-H 'Content-Type: application/json'",
        `--data-raw '{"text":"string"}'`,
        "--output response.pdf",
      ].join(" \\\n  "),
    );
  });

  test("secrets are in the code if the user asks", () => {
    const own = { ...plan, credential: { kind: "basic", username: "app", password: "it's" } };
    assert.match(curlCommand(own), /-u 'app:it'\\''s'/);
    assert.match(pythonCode(own), /auth=\("app", "it's"\),/);
    assert.match(javascriptCode(own), /Buffer\.from\("app:it's"\)/);
    assert.doesNotMatch(pythonCode(own), /import os/);
    const token = { ...plan, credential: { kind: "token", header: "token", token: "t0k" } };
    assert.match(curlCommand(token), /-H 'token: t0k'/);
  });

  test("JSON that a language would change stays a text", () => {
    for (const text of ['{"a":12345678901234567890}', '{"a":0.10}']) {
      const odd = { ...plan, body: { ...plan.body, text } };
      assert.match(javascriptCode(odd), /body: "\{/);
      assert.match(pythonCode(odd), /content="\{/);
      assert.ok(curlCommand(odd).includes(text));
    }
    const proto = { ...plan, body: { ...plan.body, text: '{"__proto__":{}}' } };
    assert.match(javascriptCode(proto), /body: "\{/);
    assert.match(pythonCode({ ...plan, body: { ...plan.body, text: '[true,false,null,"true"]' } }), /json=\[True,False,None,"true"\]/);
  });

  test("a long body keeps its lines, and a query beside a body is in the address", () => {
    const body = { ...plan.body, text: JSON.stringify({ text: "x".repeat(70) }, null, 2) };
    const long = curlCommand({ ...plan, body, query: [["a", "b c"]] });
    assert.match(long, /--data-raw '\{\n {4}"text": "x{70}"\n {2}\}'/);
    assert.match(long, /readings\?a=b\+c'/);
  });

  test("files", () => {
    const body = { kind: "file", media: "application/x-ndjson", name: "a b.json" };
    assert.match(curlCommand({ ...plan, body }), /--data-binary '@a b\.json'/);
    assert.match(javascriptCode({ ...plan, body }), /await readFile\("a b\.json"\)/);
    assert.match(pythonCode({ ...plan, body }), /Path\("a b\.json"\)\.read_bytes\(\)/);
  });
});
