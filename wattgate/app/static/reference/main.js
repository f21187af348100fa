/** Reads the document, and shows it. */

import { grouped } from "./areas.js";
import { element } from "../shared/dom.js";
import { Filter } from "./filter.js";
import { introduce } from "./introduction.js";
import { Unavailable, read } from "./openapi.js";
import { follow } from "./position.js";
import { Theme } from "./theme.js";

const ADDRESS = new URL("openapi.json", new URL(".", location));

const list = document.querySelector(".operations");
const sidebar = document.querySelector(".areas");
const count = document.querySelector(".count");
const introduction = document.querySelectorAll(".intro, .basics");
const noMatch = document.querySelector(".no-match");

try {
  show(await read(ADDRESS));
} catch (error) {
  if (!(error instanceof Unavailable)) throw error;
  list.replaceChildren(failure(error.message));
}

function show(reference) {
  const themes = grouped(reference.operations).map((theme) => new Theme(theme, reference));
  const areas = themes.flatMap((theme) => theme.areas);
  const cards = areas.flatMap((area) => area.cards);

  const filter = new Filter(document.querySelector(".filter"), {
    apply(words) {
      const shown = themes.reduce((sum, theme) => sum + theme.filter(words), 0);
      count.textContent = words.length ? `${shown} of ${cards.length} operations` : `${cards.length} operations`;
      noMatch.hidden = shown > 0;
      for (const part of introduction) part.hidden = words.length > 0;
      if (words.length) scrollTo(0, 0);
    },
    enter: () => cards.find((card) => !card.root.hidden)?.focus(),
  });
  noMatch.querySelector(".clear").addEventListener("click", () => {
    filter.clear();
    filter.focus();
  });

  introduce(document.querySelector("main"), reference);
  list.replaceChildren(...themes.map((theme) => theme.section));
  sidebar.replaceChildren(...themes.map((theme) => theme.entry));
  sidebar.addEventListener("click", ({ target }) => target.closest("a") && sidebar.hidePopover());
  for (const control of document.querySelectorAll(".filter, .areas-button")) control.disabled = false;
  filter.clear();
  follow(areas);
  reveal(cards, filter);
  addEventListener("hashchange", () => reveal(cards, filter));
}

/** Bring what the address names into view; an operation opens, and stands out. */
function reveal(cards, filter) {
  const named = document.getElementById(location.hash.slice(1));
  if (!named) return;
  if (named.closest("[hidden]")) filter.clear();
  document.querySelector(".linked")?.classList.remove("linked");
  const card = cards.find(({ root }) => root === named);
  if (card) {
    card.open();
    card.focus();
    named.classList.add("linked");
  }
  if (named instanceof HTMLDetailsElement) named.open = true;
  named.scrollIntoView();
}

function failure(message) {
  const again = element("button", { type: "button" }, "Try again");
  again.addEventListener("click", () => location.reload());
  return element(
    "div",
    { class: "notice failure", role: "alert", "data-testid": "failure" },
    element("h2", {}, "The reference could not be loaded"),
    element("p", {}, message),
    element("p", {}, "It is made from ", element("a", { href: ADDRESS.href }, ADDRESS.pathname), "."),
    again,
  );
}
