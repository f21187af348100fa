/** A menu: a `details` element that closes after a click, with Escape, and when the focus leaves it. */

import { closestTo, find } from "../shared/dom.js";

/** @param {HTMLElement} root  A `details` element. */
export function setUpMenu(root) {
  if (!(root instanceof HTMLDetailsElement)) throw new Error("A menu is a details element");
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !root.open) return;
    root.open = false;
    find(root, "summary").focus();
  });
  root.addEventListener("click", (event) => {
    if (closestTo(event, "button")) root.open = false;
  });
  root.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget instanceof Node && !root.contains(relatedTarget)) root.open = false;
  });
  document.addEventListener("click", ({ target }) => {
    if (target instanceof Node && !root.contains(target)) root.open = false;
  });
}
