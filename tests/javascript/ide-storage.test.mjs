/** The storage of the IDE in the browser: documents and history, never secrets; and links that open documents. */

import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";

import { Documents, MAX_DOCUMENTS } from "../../wattgate/app/static/ide/documents.js";
import { History, MAX_ENTRIES, MAX_ENTRY } from "../../wattgate/app/static/ide/history.js";
import { readLink, writeLink } from "../../wattgate/app/static/shared/ide-link.js";
import { explainFailure } from "../../wattgate/app/static/ide/response-facts.js";
import { formatCount, formatDuration, formatSize } from "../../wattgate/app/static/shared/quantities.js";
import { holdsSecrets, redact } from "../../wattgate/app/static/ide/secrets.js";
import { loadSchema } from "../../wattgate/app/static/ide/schema-loader.js";

class MemoryStorage {
  values = new Map();
  full = false;
  getItem(key) { return this.values.get(key) ?? null; }
  setItem(key, value) {
    if (this.full) throw new Error("QuotaExceededError");
    this.values.set(key, value);
  }
  removeItem(key) { this.values.delete(key); }
  get text() { return [...this.values.values()].join("\n"); }
}

describe("secrets", () => {
  const EMPTY = { text: "", variables: "", headers: "" };

  /** Assert that a text of one kind becomes another, and that nothing is left out twice. */
  const leavesOut = (kind, cases) => {
    for (const [source, expected] of cases) {
      test(`${kind}: ${source}`, () => {
        assert.equal(redact({ ...EMPTY, [kind]: source })[kind], expected);
        assert.equal(holdsSecrets({ ...EMPTY, [kind]: source }), source !== expected);
        assert.equal(holdsSecrets({ ...EMPTY, [kind]: expected }), false);
      });
    }
  };

  leavesOut("text", [
    ['mutation { authenticate(username: "ada", password: "hunter2", code: "123456") { ... on Login { token } } }', 'mutation { authenticate(username: "ada", password: "", code: "") { ... on Login { token } } }'],
    ['{ a(input: {newPassword: """hunter2""", pushToken: "x", name: "y"}) }', '{ a(input: {newPassword: "", pushToken: "", name: "y"}) }'],
    ["query ($password: String!) { a(password: $password) }", "query ($password: String!) { a(password: $password) }"],
    ["{ a(password: \"open", "{ a(password: \"\""],
    ['{ a(cultureCode: "en", tokenId: "1", claimCode: "1", refreshToken: "1") }', '{ a(cultureCode: "en", tokenId: "1", claimCode: "", refreshToken: "") }'],
    ['mutation A($password: String! = "hunter2", $tokens: [String!]! = ["a", "b"], $name: String = "ada") { b }', 'mutation A($password: String! = "", $tokens: [String!]! = ["", ""], $name: String = "ada") { b }'],
    ['query ($p: String = "hunter2", $q: String = "x") { a(password: $p, other: $q) }', 'query ($p: String = "", $q: String = "x") { a(password: $p, other: $q) }'],
    ['{ a(tokens: ["b", ["c"]], credential: {kind: BASIC, value: "d", code: 7, old: null}) { token: id } }', '{ a(tokens: ["", [""]], credential: {kind: "", value: "", code: "", old: null}) { token: id } }'],
    ["{ a(password: hunter2) }", '{ a(password: "") }'],
    ['{ a(password: "hun"ter2", code: 1) }\n{ b }', '{ a(password: ""\n{ b }'],
    ['# token: abc\n{ a } # login(username: "ada", password: "hunter2")\n# the password is long', '# token:\n{ a } # login(username: "ada", password:\n# the password is long'],
  ]);
  leavesOut("variables", [
    ['{"username": "ada", "password": "hun\\"ter", "input": {"code": 123, "on": true}}', '{"username": "ada", "password": "", "input": {"code": "", "on": true}}'],
    ['{"password": "open', '{"password": ""'],
    ['{"tokens": ["a", "b"], "token": null}', '{"tokens": "", "token": null}'],
    ['{"tokens": ["a]", "b}"], "name": "x"}', '{"tokens": "", "name": "x"}'],
    ['{"credential": {"id": 1, "values": [{"x": "}"}]}, "name": "x"}', '{"credential": "", "name": "x"}'],
    ['{"pass\\u0077ord": "hunter2"}', '{"pass\\u0077ord": ""}'],
    ["{password: 'hunter 2', name: 'x'}", '{password: ""'],
    ['{"password" "hunter2", "name": "x"}', '{"password" "", "name": "x"}'],
    ['{"password": "hun"ter2", "name": "x"}', '{"password": ""'],
    ['{"password": [', '{"password": ""'],
    ['{"tags": ["password", "code"], "tokenId": "1", "password": ""}', '{"tags": ["password", "code"], "tokenId": "1", "password": ""}'],
  ]);
  leavesOut("headers", [
    ["token: abc\n Authorization: Basic eA==\nX-Api-Key: k\nuserId: u\nX-Access-Token: t", "token:\n Authorization:\nX-Api-Key:\nuserId: u\nX-Access-Token:"],
    ["# authorization: Basic eA==\nBearer abc\nauthorization Basic eA==\n# note", "# authorization:\nBearer\nauthorization\n# note"],
  ]);

  test("a large text of any kind is read once", () => {
    const long = "a-".repeat(100_000);
    const texts = { text: `# ${long}\n{ a }`, variables: `{"${long}": "${long}"}`, headers: `${long}: ${long}` };
    assert.deepEqual(redact(texts), texts);
  });

  test("a variable is secret if a secret argument takes it", () => {
    const text = "query ($p: String!, $input: Input) { a(password: $p, input: $input) }";
    const { variables } = redact({ ...EMPTY, text, variables: '{"p": "hunter2", "input": {"p": "a page"}}' });
    assert.equal(variables, '{"p": "", "input": {"p": "a page"}}');
  });
});

describe("documents", () => {
  test("an empty one is replaced, the same one is activated, and all are back after a reload", () => {
    const storage = new MemoryStorage();
    const documents = new Documents(storage);
    assert.equal(documents.list.length, 1);
    const first = documents.open({ text: "{ a }" });
    documents.open({ text: "{ b }", title: "B" });
    assert.equal(documents.open({ text: "{ a }" }), first);
    assert.deepEqual(documents.list.map(({ text }) => text), ["{ a }", "{ b }"]);
    const again = new Documents(storage);
    assert.deepEqual([again.active.text, again.list[1].title], ["{ a }", "B"]);
  });

  test("closing activates a neighbour, and one document always remains", () => {
    const documents = new Documents(new MemoryStorage());
    for (const text of ["a", "b", "c"]) documents.open({ text });
    documents.close(documents.active.id);
    assert.equal(documents.active.text, "b");
    documents.close(documents.list[0].id);
    assert.equal(documents.active.text, "b");
    documents.close(documents.active.id);
    assert.deepEqual(documents.list.map(({ text }) => text), [""]);
  });

  test("no secret is stored; the open document keeps it", () => {
    const storage = new MemoryStorage();
    const documents = new Documents(storage);
    documents.open({ text: '{ a(password: "hunter2") }', variables: '{"code": "123456"}', headers: "token: abcdef" });
    assert.ok(!/hunter2|123456|abcdef/.test(storage.text));
    assert.match(documents.active.text, /hunter2/);
    documents.forgetSecrets(); // at a log-out
    const { text, variables, headers } = documents.active;
    assert.deepEqual([text, variables, headers], ['{ a(password: "") }', '{"code": ""}', "token:"]);
  });

  describe("in two windows of the browser", () => {
    let [storage, places] = [];
    const open = (index) => new Documents(storage, places[index]);
    const texts = (documents) => documents.list.map(({ text }) => text);

    beforeEach(() => {
      storage = new MemoryStorage();
      places = [new MemoryStorage(), new MemoryStorage()];
    });

    test("each keeps its active document and gets those of the other", () => {
      const one = open(0);
      one.open({ text: "{ a }" });
      const other = open(1);
      other.open({ text: "{ b }" });
      let merged = 0;
      one.onMerge = () => { merged += 1; };
      one.merge();
      one.merge();
      assert.deepEqual([texts(one), one.active.text, merged], [["{ a }", "{ b }"], "{ a }", 1]);
      one.change({ text: "{ a1 }" });
      other.change({ text: "{ b1 }" });
      one.store();
      other.store();
      for (const [index, text] of [[0, "{ a1 }"], [1, "{ b1 }"]]) {
        assert.deepEqual(texts(open(index)), ["{ a1 }", "{ b1 }"]);
        assert.equal(open(index).active.text, text);
      }
      one.merge();
      other.merge();
      assert.deepEqual([texts(one), texts(other)], [["{ a1 }", "{ b1 }"], ["{ a1 }", "{ b1 }"]]);
    });

    test("a closed document is closed in both, unless the other has changed it", () => {
      const one = open(0);
      for (const text of ["{ a }", "{ b }", "{ c }"]) one.open({ text });
      const other = open(1);
      const [a, b, c] = other.list;
      other.activate(b.id);
      other.change({ text: "{ b1 }" });
      for (const { id } of [a, b]) one.close(id);
      other.merge();
      assert.deepEqual([texts(other), other.active], [["{ b1 }", "{ c }"], b]);
      other.store();
      one.merge();
      assert.deepEqual(texts(one), ["{ c }", "{ b1 }"]);
      for (const { id } of [b, c]) one.close(id);
      other.merge();
      assert.deepEqual(texts(other), [""]);
    });

    test("a secret stays in the window where it was typed, and an empty document too", () => {
      const one = open(0);
      one.open({ text: "{ a }", headers: "token: abcdef" });
      const other = open(1);
      other.openEmpty();
      other.store();
      one.merge();
      assert.deepEqual(one.list.map(({ headers }) => headers), ["token: abcdef"]);
    });

    test("a storage that was emptied closes nothing", () => {
      const one = open(0);
      one.open({ text: "{ a }" });
      storage.removeItem("wattgate.ide.documents");
      one.merge();
      assert.deepEqual(texts(one), ["{ a }"]);
    });

    test("the history has what ran in each", () => {
      const [one, other] = [new History(storage), new History(storage)];
      one.add({ ...RUN, text: "{ a }", ranAt: 1 });
      other.add({ ...RUN, text: "{ b }", ranAt: 2 });
      assert.deepEqual(one.entries.map(({ text }) => text), ["{ b }", "{ a }"]);
      storage.full = true;
      one.add({ ...RUN, text: "{ c }", ranAt: 3 });
      assert.equal(one.entries.length, 3, "without space it lasts until the page is closed");
    });
  });

  test("documents of an earlier version are read", () => {
    const storage = new MemoryStorage();
    const list = [{ text: "{ a }", operationName: null }, { text: "{ b }" }];
    storage.setItem("wattgate.ide.documents", JSON.stringify({ list, active: 1 }));
    const documents = new Documents(storage);
    assert.deepEqual([documents.active.text, new Set(documents.list.map(({ id }) => id)).size], ["{ b }", 2]);
  });

  test("their number is bounded; a broken or full storage is no error", () => {
    const storage = new MemoryStorage();
    const documents = new Documents(storage);
    const closed = [];
    documents.onOverflow = ({ text }) => closed.push(text);
    for (let index = 0; index < MAX_DOCUMENTS + 2; index += 1) documents.open({ text: `{ a${index} }` });
    assert.equal(documents.list.length, MAX_DOCUMENTS);
    assert.deepEqual(closed, ["{ a0 }", "{ a1 }"]);
    const [first, second] = documents.list;
    documents.activate(first.id);
    documents.open({ text: "{ one more }" });
    assert.deepEqual([documents.list.includes(first), closed.at(-1)], [true, second.text], "the active one stays");
    storage.setItem("wattgate.ide.documents", "{broken");
    assert.equal(new Documents(storage).list.length, 1);
    storage.full = true;
    new Documents(storage).open({ text: "{ a }" });
  });
});

const RUN = { title: "A", text: "{ a }", variables: "", headers: "", ranAt: 1, status: 200, errors: 0, isPersonal: false };

describe("history", () => {
  test("the same operation is there once, newest first, pinned ones before all", () => {
    const history = new History(new MemoryStorage());
    for (const [text, ranAt] of [["{ a }", 1], ["{ b }", 2], ["{ a }", 3], ["{ c }", 4]]) history.add({ ...RUN, text, ranAt });
    assert.deepEqual(history.entries.map(({ text }) => text), ["{ c }", "{ a }", "{ b }"]);
    assert.ok(history.togglePin(history.entries[2]));
    assert.deepEqual(history.entries.map(({ text }) => text), ["{ b }", "{ c }", "{ a }"]);
    history.add({ ...RUN, text: "{ b }", ranAt: 9 });
    assert.ok(history.entries[0].isPinned);
    history.clear();
    assert.deepEqual(history.entries.map(({ text }) => text), ["{ b }"]);
    history.remove(history.entries[0]);
    assert.deepEqual(history.entries, []);
  });

  test("search finds all words", () => {
    const history = new History(new MemoryStorage());
    history.add({ ...RUN, text: "{ homes { name } }", title: "Homes" });
    history.add({ ...RUN, text: "{ alerts }", title: "Alerts", variables: '{"home": 1}' });
    assert.equal(history.search("home").length, 2);
    assert.deepEqual(history.search("NAME homes").map(({ title }) => title), ["Homes"]);
  });

  test("it is bounded", () => {
    const storage = new MemoryStorage();
    const history = new History(storage);
    for (let index = 0; index < MAX_ENTRIES + 9; index += 1) history.add({ ...RUN, text: `{ a${index} }`, ranAt: index });
    history.add({ ...RUN, text: `{ ${"x".repeat(MAX_ENTRY)} }`, ranAt: 1_000 });
    assert.equal(history.entries.length, MAX_ENTRIES);
    assert.equal(new History(storage).entries.length, MAX_ENTRIES);
    storage.setItem("wattgate.ide.history", "[null, {}]");
    assert.equal(new History(storage).entries.length, 0);
  });

  test("no secret is stored, and the entry says so", () => {
    const storage = new MemoryStorage();
    const history = new History(storage);
    history.add({ ...RUN, text: 'mutation { authenticate(password: "hunter2") { ... on Login { token } } }', variables: '{"newPassword": "hunter3"}', headers: "token: hunter4" });
    assert.doesNotMatch(storage.text, /hunter/);
    assert.ok(history.entries[0].isRedacted);
  });

  test("a log-out removes what ran with the log-in; pinned documents lose their variables", () => {
    const storage = new MemoryStorage();
    const history = new History(storage);
    history.add(RUN);
    history.add({ ...RUN, text: "{ mine }", variables: '{"homeId": "my-home"}', isPersonal: true });
    history.add({ ...RUN, text: "{ pinned }", variables: '{"homeId": "my-home"}', isPersonal: true });
    history.togglePin(history.entries.find(({ text }) => text === "{ pinned }"));
    history.forgetPersonal();
    assert.deepEqual(history.entries.map(({ text, variables }) => [text, variables]), [["{ pinned }", ""], ["{ a }", ""]]);
    assert.doesNotMatch(storage.text, /my-home|mine/);
  });
});

describe("links", () => {
  test("a link has a document, variables and a title", () => {
    const wanted = { text: "query A {\n  a # ü&=\n}", variables: '{"b": 1}', title: "A & B" };
    const [page, hash] = writeLink(wanted).split("#");
    assert.equal(page, "/graphql");
    assert.deepEqual(readLink(`#${hash}`), { ...wanted, variables: '{\n  "b": 1\n}' });
    const special = { text: "query A($x: ID!) {\n  a(x: $x) # 100%\n}", variables: '{\n  "x": "ü&=#"\n}', title: "" };
    assert.deepEqual(readLink(`#${writeLink(special).split("#")[1]}`), special);
    assert.equal(writeLink({ text: "{ a }" }), "/graphql#document=%7B+a+%7D");
    assert.deepEqual(readLink("#query=%7B+a+%7D&variables=%7Bbroken"), { text: "{ a }", variables: "{broken", title: "" });
  });

  test("it sets no headers, and other fragments open nothing", () => {
    assert.deepEqual(Object.keys(readLink("#document={a}&headers=token:x")), ["text", "variables", "title"]);
    for (const hash of ["", "#", "#editor", "#document=", `#document=${"x".repeat(200_000)}`]) assert.equal(readLink(hash), null);
  });
});

describe("responses", () => {
  test("an expired session offers a log-in, a used-up budget says when", () => {
    const refused = { status: 401, headers: {}, body: { errors: [{ message: "x", extensions: { code: "UNAUTHENTICATED" } }] } };
    assert.match(explainFailure(refused, true).message, /session has expired.*document stays/);
    assert.match(explainFailure(refused, false).message, /valid log-in/);
    assert.ok(explainFailure(refused, false).offersLogin);
    const limited = { status: 429, headers: { "retry-after": "7" }, body: { errors: [{ message: "Too many.", extensions: { code: "RATE_LIMITED" } }] } };
    assert.deepEqual(explainFailure(limited, true), { message: "Too many. Run it again in 7 s.", offersLogin: false });
    const wrongPassword = { status: 200, headers: {}, body: { errors: [{ message: "x", extensions: { code: "UNAUTHENTICATED" } }] } };
    assert.equal(explainFailure(wrongPassword, true), null, "a login of the document failed, not the session");
    assert.match(explainFailure({ status: 502, headers: {}, body: undefined }, true).message, /not JSON/);
    assert.equal(explainFailure({ status: 200, headers: {}, body: { data: {} } }, true), null);
  });

  test("sizes and times are short", () => {
    assert.deepEqual([0, 1, 999, 1_234, 1_500, 1_048_576, 2_500_000].map(formatSize), ["0 B", "1 B", "999 B", "1.2 kB", "1.5 kB", "1.0 MB", "2.5 MB"]);
    assert.deepEqual([0.4, 12.4, 999, 1_250, 1_534].map(formatDuration), ["0 ms", "12 ms", "999 ms", "1.3 s", "1.5 s"]);
    assert.equal(formatCount(250_000), "250,000");
  });
});

test("the schema is loaded, hidden or failed", async () => {
  const answer = (body, status = 200) => loadSchema(async () => ({ status, headers: {}, body, text: "", milliseconds: 0, bytes: 0 }));
  const hidden = await answer({ errors: [{ message: "GraphQL introspection has been disabled, but the requested query contained the field '__schema'." }] }, 400);
  assert.deepEqual([hidden.status, hidden.schema], ["hidden", null]);
  assert.match(hidden.message, /WATTGATE_ENVIRONMENT=development/);
  assert.match((await answer({ errors: [{ message: "Too many requests." }] }, 429)).message, /could not be loaded: Too many requests\.$/);
  assert.match((await answer(undefined, 502)).message, /status 502/);
  const types = [{ kind: "OBJECT", name: "Query", fields: [] }];
  assert.equal((await answer({ data: { __schema: { queryType: { name: "Query" }, types, directives: [] } } })).status, "ready");
});
