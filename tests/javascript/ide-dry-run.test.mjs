/** The dry runs of the IDE while somebody types: few, never the same twice, and none after a refusal. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { analyze, findOperation } from "../../wattgate/app/static/ide/analysis.js";
import { DryRun, MAX_FREE, PAUSE } from "../../wattgate/app/static/ide/dry-run.js";
import { ANONYMOUS_INTERVAL, DryRunQueue, LEAST_INTERVAL, MAX_WAITING } from "../../wattgate/app/static/ide/dry-run-queue.js";

/** A page with a document, and a gateway that answers as `answer` says. */
class Page {
  document = { variables: "" };
  operation = null;
  analysis = null;
  headers = { token: "t" };
  answer = { status: 200, body: { extensions: { cost: { estimated: 5 } } }, headers: { "ratelimit-policy": '"login";q=50;w=60' } };
  sent = [];
  costs = [];
  queue = new DryRunQueue((request) => this.send(request));

  on() {}
  emit() {}
  setCost(cost) { this.costs.push(cost); }
  dryRun(request, options) { return this.queue.ask(request, options); }
  requestHeaders() { return this.headers; }
  async send({ query }) {
    this.sent.push(query);
    return this.answer;
  }
}

let page;
let dryRun;

async function type(text) {
  page.analysis = analyze(text, null);
  page.operation = findOperation(page.analysis.operations, null, -1);
  dryRun.schedule(page.analysis);
}

async function wait(milliseconds) {
  mock.timers.tick(milliseconds);
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
}

beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  page = new Page();
  dryRun = new DryRun(page);
});
afterEach(() => mock.timers.reset());

test("a pause is needed, and the same document is sent once", async () => {
  for (const text of ["{ a }", "{ ab }", "{ abc }"]) {
    type(text);
    await wait(PAUSE - 1);
  }
  assert.deepEqual(page.sent, []);
  await wait(1);
  assert.deepEqual(page.sent, ["{ abc }"]);
  assert.deepEqual(page.costs.at(-1), { estimated: 5, window: 60 });
  type("{ abc }");
  await wait(10_000);
  assert.equal(page.sent.length, 1);
});

test("typing with pauses for a minute sends at most one in a second, or one in three without credentials", async () => {
  for (const [headers, interval] of [[{ token: "t" }, LEAST_INTERVAL], [{}, ANONYMOUS_INTERVAL]]) {
    Object.assign(page, { headers, sent: [] });
    for (let count = 0; count < 100; count += 1) {
      type(`{ a${count} }`);
      await wait(600);
    }
    assert.ok(page.sent.length >= 10 && page.sent.length <= 60_000 / interval + 1, String(page.sent.length));
  }
});

test("nothing is sent for wrong or large documents", async () => {
  for (const text of ["", "{ a", "{ a(b: $c) }", `{ ${"a ".repeat(MAX_FREE / 2)} }`]) {
    type(text);
    await wait(10_000);
  }
  page.document.variables = "{broken";
  type("{ a }");
  await wait(10_000);
  assert.deepEqual(page.sent, []);
});

test("a refusal stops dry runs for as long as the gateway says", async () => {
  page.answer = { status: 429, body: { errors: [] }, headers: { "retry-after": "30" } };
  type("{ a }");
  await wait(PAUSE);
  page.answer = { status: 200, body: { errors: [{ message: "x" }] }, headers: {} };
  type("{ b }");
  await wait(29_000);
  assert.deepEqual(page.sent, ["{ a }"]);
  await wait(1_001);
  assert.deepEqual(page.sent, ["{ a }", "{ b }"]);
});

test("all senders share one interval; the editor goes first, and few wait", async () => {
  const { headers } = page;
  const ask = (query, options = {}) => page.queue.ask({ query }, { headers, ...options });
  const panels = Array.from({ length: MAX_WAITING + 3 }, (_, index) => ask(`{ p${index} }`));
  const typed = new AbortController();
  const dropped = ask("{ typed }", { signal: typed.signal, isFirst: true });
  typed.abort();
  assert.equal(await dropped, null);
  const first = ask("{ editor }", { isFirst: true });
  assert.deepEqual(page.sent, ["{ p0 }"]);
  await wait(LEAST_INTERVAL - 1);
  assert.equal(page.sent.length, 1);
  await wait(1);
  assert.deepEqual(page.sent, ["{ p0 }", "{ editor }"]);
  assert.equal((await first).status, 200);
  for (let count = 0; count < MAX_WAITING; count += 1) await wait(LEAST_INTERVAL);
  const answers = await Promise.all(panels);
  assert.deepEqual(answers.map((answer) => answer === null), panels.map((_, index) => index > 0 && index <= 3));
  assert.deepEqual(page.sent.slice(2), Array.from({ length: 9 }, (_, index) => `{ p${index + 4} }`));
});

test("a request whose signal is aborted before its turn, or at the start, is not sent", async () => {
  const early = AbortSignal.abort();
  const late = new AbortController();
  const answers = [page.queue.ask({ query: "{ a }" }, { headers: {} })];
  for (const signal of [early, late.signal]) answers.push(page.queue.ask({ query: "{ b }" }, { headers: {}, signal }));
  late.abort();
  await wait(ANONYMOUS_INTERVAL * 3);
  assert.deepEqual(page.sent, ["{ a }"]);
  assert.deepEqual((await Promise.all(answers)).map((answer) => answer?.status ?? null), [200, null, null]);
});
