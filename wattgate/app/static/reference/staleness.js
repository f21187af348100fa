/** Notices that the gateway has another document than the page, for example after an update. */

import { find } from "../shared/dom.js";
import { readText } from "./openapi.js";

/**
 * Read the document again when the user returns to the page. If it has changed, show the notice.
 * @param {URL} address
 * @param {string} text  The document that the page shows.
 * @param {HTMLElement} notice
 */
export function watchDocument(address, text, notice) {
  find(notice, "button").addEventListener("click", () => location.reload());
  const check = async () => {
    if (document.visibilityState !== "visible" || !notice.hidden) return;
    // A gateway that does not respond says nothing about its document.
    const newest = await readText(address).catch(() => text);
    notice.hidden = newest === text;
  };
  document.addEventListener("visibilitychange", check);
  addEventListener("pageshow", (event) => event.persisted && check());
  addEventListener("online", check);
}
