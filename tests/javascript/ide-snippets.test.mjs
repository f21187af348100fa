/** Requests of the IDE as code: quoting, and what each snippet contains. tests/app/test_ide_snippets.py runs them. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, test } from "node:test";
import { Script } from "node:vm";

import { javaScriptValue, templateLiteral } from "../../wattgate/app/static/ide/panels/quoting.js";
import { quoteForShell } from "../../wattgate/app/static/shared/shell.js";
import { SNIPPETS } from "../../wattgate/app/static/ide/panels/snippets.js";

const HOSTILE = [
  "",
  "it's",
  '"double"',
  "`tick` ${1 + 1} $HOME $(id) `id` \\` \\${x} \\",
  "line\nline\r\nline\rline\ttab",
  "\u2028\u2029 😀 \ud800",
  "</script><!-- !event -x @file",
  "$$ $` $' $& %s \\n \\u0041",
];

const REQUEST = {
  url: "http://127.0.0.1:8000/graphql",
  text: "query Homes { viewer { homes { edges { node { name } } } } }",
  operation: "query",
  name: "Homes",
  variables: {},
  credentials: { kind: "token" },
};

/** Return the code of each snippet by its id. */
function snippetsOf(changes) {
  return Object.fromEntries(SNIPPETS.map(({ id, make }) => [id, make({ ...REQUEST, ...changes })]));
}

describe("quoting", () => {
  for (const text of HOSTILE) {
    test(`a template literal keeps ${JSON.stringify(text)}`, () => {
      assert.equal(new Script(templateLiteral(text)).runInNewContext(), text);
    });
    test(`a value keeps ${JSON.stringify(text)}`, () => {
      const value = { [text]: [text, { list: Array(9).fill(text) }], __proto__x: null };
      const evaluated = new Script(`(${javaScriptValue(value)})`).runInThisContext();
      assert.deepEqual(evaluated, value);
    });
    // A shell gets text as UTF-8, which has no half of a surrogate pair.
    const encodable = text.replace("\ud800", "");
    test(`a word of a shell keeps ${JSON.stringify(encodable)}`, () => {
      assert.equal(execFileSync("sh", ["-c", `printf %s ${quoteForShell(encodable)}`], { encoding: "utf8" }), encodable);
    });
  }
  test("a member named __proto__ stays a member", () => {
    const value = JSON.parse('{"__proto__": {"a": 1}}');
    const evaluated = new Script(`(${javaScriptValue(value)})`).runInThisContext();
    assert.equal(JSON.stringify(evaluated), JSON.stringify(value));
  });
});

describe("snippets", () => {
  test("no snippet contains a token or a secret, and each has its placeholder", () => {
    const withToken = snippetsOf({});
    for (const id of ["fetch", "urql", "apollo"]) assert.match(withToken[id], /token: "TOKEN"/);
    assert.match(withToken.curl, /-H "token: \$TOKEN"/);
    assert.doesNotMatch(withToken.gql, /TOKEN/);
    const credentials = { kind: "application", applicationId: "app-1", userId: "user'1" };
    const asApplication = snippetsOf({ credentials });
    assert.match(asApplication.curl, /-u 'app-1:'"\$SECRET" \\\n {2}-H 'userId: user'\\''1'/);
    assert.match(asApplication.fetch, /btoa\("app-1:SECRET"\),\n {4}userId: "user'1"/);
    const anonymous = snippetsOf({ credentials: { kind: "none" } });
    for (const text of Object.values(anonymous)) assert.doesNotMatch(text, /TOKEN|SECRET|authorization/);
  });
  test("a document gets a constant with the name of its operation", () => {
    assert.match(snippetsOf({}).gql, /^import gql from "graphql-tag";\n\nexport const HomesDocument = gql`query Homes /);
    assert.match(snippetsOf({ name: null }).gql, /const QueryDocument/);
    assert.match(snippetsOf({ name: "delete" }).gql, /const DeleteDocument/);
  });
  test("a subscription is an event stream, or runs over a WebSocket", () => {
    const live = snippetsOf({ operation: "subscription", url: "https://gateway.example/graphql" });
    assert.match(live.curl, /--no-buffer .*\n.*\n {2}-H 'Accept: text\/event-stream'/);
    for (const id of ["urql", "apollo"]) assert.match(live[id], /url: "wss:\/\/gateway\.example\/graphql"/);
  });
});
