/** Entry point of the REST reference: loads the OpenAPI document and shows its operations. */

import { closestTo, element, find, findAll, findAs } from "../shared/dom.js";
import { AreaGroup } from "./area-group.js";
import { groupOperations } from "./areas.js";
import { Filter } from "./filter.js";
import { showIntroduction } from "./introduction.js";
import { DocumentUnavailable, readDocument } from "./openapi.js";
import { markCurrentArea } from "./scroll-position.js";

/** @import { Reference } from "./openapi.js" */
/** @import { OperationCard } from "./operation-card.js" */

const ADDRESS = new URL("openapi.json", new URL(".", location.href));

const list = find(document, ".operations");
const sidebar = find(document, ".areas");
const count = find(document, ".count");
const introduction = findAll(document, ".intro, .basics");
const noMatch = find(document, ".no-match");

try {
  show(await readDocument(ADDRESS));
} catch (error) {
  if (!(error instanceof DocumentUnavailable)) throw error;
  list.replaceChildren(failureNotice(error.message));
}

/** @param {Reference} reference */
function show(reference) {
  const groups = groupOperations(reference.operations).map((group) => new AreaGroup(group, reference));
  const areas = groups.flatMap((group) => group.areas);
  const cards = areas.flatMap((area) => area.cards);

  const filter = new Filter(findAs(document, ".filter", HTMLInputElement), {
    onChange(words) {
      const shown = groups.reduce((sum, group) => sum + group.filter(words), 0);
      count.textContent = words.length ? `${shown} of ${cards.length} operations` : `${cards.length} operations`;
      noMatch.hidden = shown > 0;
      for (const part of introduction) part.hidden = words.length > 0;
      if (words.length) scrollTo(0, 0);
    },
    onEnter: () => cards.find((card) => !card.root.hidden)?.focus(),
  });
  find(noMatch, ".clear").addEventListener("click", () => {
    filter.clear();
    filter.focus();
  });

  showIntroduction(find(document, "main"), reference);
  list.replaceChildren(...groups.map((group) => group.section));
  sidebar.replaceChildren(...groups.map((group) => group.entry));
  sidebar.addEventListener("click", (event) => {
    if (closestTo(event, "a")) sidebar.hidePopover();
  });
  findAs(document, ".filter", HTMLInputElement).disabled = false;
  findAs(document, ".areas-button", HTMLButtonElement).disabled = false;
  filter.clear();
  markCurrentArea(areas);
  reveal(cards, filter);
  addEventListener("hashchange", () => reveal(cards, filter));
}

/**
 * Scroll to the element that the address names. If it is an operation, open and highlight it.
 * @param {OperationCard[]} cards
 * @param {Filter} filter
 */
function reveal(cards, filter) {
  const target = document.getElementById(location.hash.slice(1));
  if (!target) return;
  if (target.closest("[hidden]")) filter.clear();
  document.querySelector(".highlighted")?.classList.remove("highlighted");
  const card = cards.find(({ root }) => root === target);
  if (card) {
    card.open();
    card.focus();
    target.classList.add("highlighted");
  }
  if (target instanceof HTMLDetailsElement) target.open = true;
  target.scrollIntoView();
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
