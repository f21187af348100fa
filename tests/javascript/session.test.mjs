/** The account of a session: it is that of the log-in, also after renewals and after the page was loaded again. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { logIn } from "../../wattgate/app/static/shared/gateway.js";
import { Session } from "../../wattgate/app/static/shared/session.js";

const LOGIN = { token: "first", expiresAt: "2255-03-14T16:00:00.000Z", accountId: "ada", applicationId: "app" };
const STORED = { token: "first", since: 0, expires: 9_000_000_000_000 };

/** The storage of the browser, by key. */
const stored = new Map();
/** The bodies of the requests. */
const sent = [];

beforeEach(() => {
  stored.clear();
  sent.length = 0;
  globalThis.localStorage = {
    getItem: (key) => stored.get(key) ?? null,
    setItem: (key, text) => stored.set(key, text),
    removeItem: (key) => stored.delete(key),
  };
  mock.method(globalThis, "fetch", async (_, { body }) => {
    sent.push(JSON.parse(body).query);
    return Response.json({ data: { authenticate: LOGIN, createToken: { token: "second", expiresAt: "2271-01-16T16:53:20.000Z" } } });
  });
});
afterEach(() => {
  mock.reset();
  delete globalThis.localStorage;
});

test("the log-in says the account", async () => {
  const login = await logIn({ applicationId: "app", username: "ada@example.org", password: "secret" });
  assert.match(sent[0], /\baccountId applicationId\b/);
  assert.equal(Session.create(login).account, "app ada");
});

test("a renewal keeps the account, in the browser too", async () => {
  localStorage.setItem("key", JSON.stringify({ ...STORED, account: "app ada" }));
  const session = Session.resume("key");
  await session.renew();
  assert.deepEqual([session.token, session.account], ["second", "app ada"]);
  assert.equal(Session.resume("key").account, "app ada");
});

test("sessions of two accounts, or of two applications, differ", () => {
  const accounts = [LOGIN, { ...LOGIN, accountId: "bob" }, { ...LOGIN, applicationId: "other" }];
  assert.equal(new Set(accounts.map((login) => Session.create(login).account)).size, 3);
});

test("the account of a session that an older page stored is unknown", () => {
  localStorage.setItem("key", JSON.stringify(STORED));
  assert.equal(Session.resume("key").account, null);
});
