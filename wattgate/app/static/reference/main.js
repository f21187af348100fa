/** Entry point of the REST reference: loads the OpenAPI document and shows its operations. */

import { ConfirmDialog } from "../shared/confirm-dialog.js";
import { closestTo, element, find, findAll, findAs } from "../shared/dom.js";
import { readHash, searchHash, wordsOf } from "./address.js";
import { AreaGroup } from "./area-group.js";
import { groupOperations } from "./areas.js";
import { Credentials } from "./credentials.js";
import { showIntroduction } from "./introduction.js";
import { LoginDialog } from "./login-dialog.js";
import { DocumentUnavailable, readDocument } from "./openapi.js";
import { markCurrentArea } from "./scroll-position.js";
import { SearchBox } from "./search-box.js";
import { SearchIndex } from "./search.js";
import { watchDocument } from "./staleness.js";

/** @import { Operation, Reference } from "./openapi.js" */
/** @import { OperationCard, PageContext } from "./operation-card.js" */

const ADDRESS = new URL("openapi.json", new URL(".", location.href));

const list = find(document, ".operations");
const sidebar = find(document, ".areas");
const count = find(document, ".count");
const results = find(document, ".search-results");
const unknownOperation = find(document, ".unknown-operation");

class ReferencePage {
  /** @type {Reference} */
  #reference;
  /** @type {OperationCard[]} */
  #cards;
  /** @type {SearchBox} */
  #search;

  /** @param {Reference} reference */
  constructor(reference) {
    this.#reference = reference;
    const credentials = new Credentials();
    const login = new LoginDialog(findAs(document, ".login-dialog", HTMLDialogElement), credentials);
    const { application = "", ide } = document.body.dataset;
    /** @type {PageContext} */
    const context = {
      reference,
      credentials,
      login,
      confirmation: new ConfirmDialog(findAs(document, ".confirm-dialog", HTMLDialogElement)),
      presets: application ? { "header.applicationId": application } : {},
      hasIde: ide !== undefined,
    };
    const groups = groupOperations(reference).map((group) => new AreaGroup(group, context));
    const areas = groups.flatMap((group) => group.areas);
    this.#cards = areas.flatMap((area) => area.cards);
    const index = new SearchIndex(reference.operations, ({ area }) => reference.tags[area]?.name ?? area);
    this.#search = new SearchBox(document, index, {
      onChange: (query, matches) => this.#onSearch(query, matches),
      onChoose: ({ id }) => { location.hash = id; },
    });
    showIntroduction(find(document, "main"), reference);
    showAccount(credentials, login);
    list.replaceChildren(...groups.map((group) => group.section));
    sidebar.replaceChildren(...groups.map((group) => group.entry));
    sidebar.addEventListener("click", (event) => {
      if (closestTo(event, "a")) sidebar.hidePopover();
    });
    findAs(document, ".areas-button", HTMLButtonElement).disabled = false;
    find(document, ".clear").addEventListener("click", () => {
      this.#search.search("");
      this.#search.focus();
    });
    markCurrentArea(areas);
    this.#showTarget();
    addEventListener("hashchange", () => this.#showTarget());
  }

  /**
   * Show the results of a search in place of the operations, or the operations if there is no search.
   * @param {string} query
   * @param {number} matches
   */
  #onSearch(query, matches) {
    const total = `${this.#cards.length} operations`;
    count.textContent = query ? `${matches} of ${total}` : total;
    results.hidden = !query;
    for (const part of findAll(document, ".intro, .basics, .operations, .area-group")) part.hidden = query !== "";
    find(results, ".no-match").hidden = matches > 0;
    unknownOperation.hidden = true;
    if (query) scrollTo(0, 0);
    if (query || location.hash.startsWith("#search=")) {
      history.replaceState(null, "", query ? searchHash(query) : location.pathname + location.search);
    }
  }

  /** Show what the address names: a search, an operation or another element of the page. */
  #showTarget() {
    const target = readHash(location.hash, this.#reference.operations);
    document.querySelector(".highlighted")?.classList.remove("highlighted");
    if (target.kind === "search") {
      if (target.query !== this.#search.query) this.#search.search(target.query);
      return;
    }
    const { hash } = location;
    this.#search.search("");
    if (target.kind === "operation") this.#showOperation(target.operation);
    if (target.kind === "other") this.#showElement(target.id, hash);
  }

  /** @param {Operation} operation */
  #showOperation(operation) {
    const card = this.#cards.find((candidate) => candidate.operation === operation);
    if (!card) return;
    card.open();
    card.focus();
    card.root.classList.add("highlighted");
    card.root.scrollIntoView();
  }

  /**
   * Show an element of the page, or say that the document has no such operation.
   * @param {string} id
   * @param {string} hash
   */
  #showElement(id, hash) {
    const target = document.getElementById(id);
    if (!target) {
      this.#showUnknown(id, hash);
      return;
    }
    for (let part = target.closest("details"); part; part = part.parentElement?.closest("details") ?? null) part.open = true;
    target.scrollIntoView();
    if (target.tabIndex < 0) target.focus({ preventScroll: true });
  }

  /**
   * @param {string} id
   * @param {string} hash
   */
  #showUnknown(id, hash) {
    const words = wordsOf(id);
    unknownOperation.hidden = false;
    unknownOperation.replaceChildren(
      element("p", {}, "This gateway has no operation ", element("code", {}, id), ". Another version may have it."),
      element("p", {}, element("a", { href: searchHash(words) }, `Search for “${words}”`)),
    );
    history.replaceState(null, "", hash);
    scrollTo(0, 0);
  }
}

/**
 * Show who sends requests, with a button to log in or out.
 * @param {Credentials} credentials
 * @param {LoginDialog} login
 */
function showAccount(credentials, login) {
  const root = find(document, ".account");
  const button = findAs(root, "button", HTMLButtonElement);
  const show = () => {
    find(root, ".who").textContent = credentials.label ? `Requests are sent as ${credentials.label}.` : "";
    button.textContent = credentials.label ? "Log out" : "Log in to send requests";
  };
  button.addEventListener("click", () => (credentials.label ? credentials.logOut() : login.open()));
  credentials.addEventListener("change", show);
  show();
}

/** @param {string} message */
function failureNotice(message) {
  const retry = element("button", { type: "button" }, "Try again");
  retry.addEventListener("click", () => location.reload());
  return element(
    "div",
    { class: "notice failure", role: "alert", "data-testid": "failure" },
    element("h2", {}, "The reference could not be loaded"),
    element("p", {}, message),
    element("p", {}, "It is generated from ", element("a", { href: ADDRESS.href }, ADDRESS.pathname), "."),
    retry,
  );
}

try {
  const reference = await readDocument(ADDRESS);
  new ReferencePage(reference);
  watchDocument(ADDRESS, reference.text, find(document, ".stale"));
} catch (error) {
  if (!(error instanceof DocumentUnavailable)) throw error;
  list.replaceChildren(failureNotice(error.message));
}
