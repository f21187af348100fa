/** Reads the document, and shows it. */

import { groupOperations } from "./areas.js";
import { element } from "../shared/dom.js";
import { Filter } from "./filter.js";
import { showIntroduction } from "./introduction.js";
import { DocumentUnavailable, readDocument } from "./openapi.js";
import { markCurrentArea } from "./scroll-position.js";
import { AreaGroup } from "./area-group.js";

const ADDRESS = new URL("openapi.json", new URL(".", location));

const list = document.querySelector(".operations");
const sidebar = document.querySelector(".areas");
const count = document.querySelector(".count");
const introduction = document.querySelectorAll(".intro, .basics");
const noMatch = document.querySelector(".no-match");

try {
  show(await readDocument(ADDRESS));
} catch (error) {
  if (!(error instanceof DocumentUnavailable)) throw error;
  list.replaceChildren(failureNotice(error.message));
}

function show(reference) {
  const groups = groupOperations(reference.operations).map((group) => new AreaGroup(group, reference));
  const areas = groups.flatMap((group) => group.areas);
  const cards = areas.flatMap((area) => area.cards);

  const filter = new Filter(document.querySelector(".filter"), {
    onChange(words) {
      const shown = groups.reduce((sum, group) => sum + group.filter(words), 0);
      count.textContent = words.length ? `${shown} of ${cards.length} operations` : `${cards.length} operations`;
      noMatch.hidden = shown > 0;
      for (const part of introduction) part.hidden = words.length > 0;
      if (words.length) scrollTo(0, 0);
    },
    onEnter: () => cards.find((card) => !card.root.hidden)?.focus(),
  });
  noMatch.querySelector(".clear").addEventListener("click", () => {
    filter.clear();
    filter.focus();
  });

  showIntroduction(document.querySelector("main"), reference);
  list.replaceChildren(...groups.map((group) => group.section));
  sidebar.replaceChildren(...groups.map((group) => group.entry));
  sidebar.addEventListener("click", ({ target }) => target.closest("a") && sidebar.hidePopover());
  for (const control of document.querySelectorAll(".filter, .areas-button")) control.disabled = false;
  filter.clear();
  markCurrentArea(areas);
  reveal(cards, filter);
  addEventListener("hashchange", () => reveal(cards, filter));
}

/** Bring what the address names into view; an operation opens, and stands out. */
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

function failureNotice(message) {
  const retry = element("button", { type: "button" }, "Try retry");
  retry.addEventListener("click", () => location.reload());
  return element(
    "div",
    { class: "notice failure", role: "alert", "data-testid": "failure" },
    element("h2", {}, "The reference could not be loaded"),
    element("p", {}, message),
    element("p", {}, "It is made from ", element("a", { href: ADDRESS.href }, ADDRESS.pathname), "."),
    retry,
  );
}
