/** The credential with which the page sends requests: a token of a log-in, a pasted token, or that of an application. */

import { logOut } from "../shared/gateway.js";
import { Session } from "../shared/session.js";

/** @import { Login } from "../shared/gateway.js" */
/** @import { Operation, SecurityScheme } from "./openapi.js" */
/** @import { Credential } from "./request.js" */

/**
 * The secrets of the user. Only a token of a log-in is stored; all else is forgotten with the page.
 * @typedef {{ kind: "session", session: Session }
 *   | { kind: "token", token: string }
 *   | { kind: "basic", username: string, password: string, userId: string }} Given
 */

const SESSION_KEY = "wattgate.reference.session";
/** The key of the username of the session, which the page shows. */
const NAME_KEY = "wattgate.reference.username";

export class Credentials extends EventTarget {
  /** @type {Given | null} */
  #given = null;

  constructor() {
    super();
    const session = Session.resume(SESSION_KEY);
    if (session) this.#given = { kind: "session", session };
  }

  /** The name of the sender of requests. Empty if nobody has logged in. */
  get label() {
    const given = this.#given;
    if (!given) return "";
    if (given.kind === "basic") return given.userId ? `${given.username} for user ${given.userId}` : given.username;
    return given.kind === "token" ? "a pasted token" : (localStorage.getItem(NAME_KEY) ?? "your log-in");
  }

  /** The kind of the credential, as the security schemes of the document name it, or null. */
  get scheme() {
    if (!this.#given) return null;
    return this.#given.kind === "basic" ? "basic" : "token";
  }

  /**
   * Use the token of a log-in.
   * @param {Login} login
   * @param {string} username
   */
  logIn(login, username) {
    this.#end();
    localStorage.setItem(NAME_KEY, username);
    this.#change({ kind: "session", session: Session.create(login, SESSION_KEY) });
  }

  /**
   * Use a token that the user pasted.
   * @param {string} token
   */
  useToken(token) {
    this.#end();
    this.#change({ kind: "token", token });
  }

  /**
   * Use the credential of an application, for one of its users if `userId` is not empty.
   * @param {string} username
   * @param {string} password
   * @param {string} userId
   */
  useApplication(username, password, userId) {
    this.#end();
    this.#change({ kind: "basic", username, password, userId });
  }

  /** Log out: forget the credential, and revoke the token of a log-in. */
  logOut() {
    const given = this.#given;
    // The page forgets the token even if the gateway cannot be reached.
    if (given?.kind === "session") logOut(given.session.token).catch(() => {});
    this.#end();
    this.#change(null);
  }

  /** The ID of the user for whom an application acts, or empty. */
  get userId() {
    return this.#given?.kind === "basic" ? this.#given.userId : "";
  }

  /**
   * Return how a request of an operation authenticates with the credential. Null says that the operation does not accept it.
   * @param {Operation} operation
   * @param {Record<string, SecurityScheme>} schemes
   * @returns {Credential | null}
   */
  forOperation({ credentials }, schemes) {
    const given = this.#given;
    if (credentials.length === 0) return { kind: "none" };
    if (!given || !this.scheme || !credentials.includes(this.scheme)) return null;
    if (given.kind === "basic") {
      return { kind: "basic", username: given.username, password: given.password };
    }
    const token = given.kind === "session" ? given.session.token : given.token;
    return { kind: "token", header: tokenHeader(schemes), token };
  }

  #end() {
    if (this.#given?.kind === "session") this.#given.session.discard();
    localStorage.removeItem(NAME_KEY);
  }

  /** @param {Given | null} given */
  #change(given) {
    this.#given = given;
    this.dispatchEvent(new Event("change"));
  }
}

/**
 * Return how the code of an operation authenticates: with the kind of credential that the user has, without its secrets.
 * @param {Operation} operation
 * @param {Record<string, SecurityScheme>} schemes
 * @param {string | null} preferred
 * @returns {Credential}
 */
export function namedCredential({ credentials }, schemes, preferred) {
  if (credentials.length === 0) return { kind: "none" };
  const kind = preferred && credentials.includes(preferred) ? preferred : credentials.includes("token") ? "token" : "basic";
  if (kind === "token") return { kind, header: tokenHeader(schemes), token: null };
  return { kind: "basic", username: null, password: null };
}

/** @param {Record<string, SecurityScheme>} schemes */
function tokenHeader(schemes) {
  return Object.values(schemes).find(({ type }) => type === "apiKey")?.name ?? "token";
}
