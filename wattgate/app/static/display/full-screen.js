/** The button that fills the screen with the display, in browsers that allow it. */

import { fillTexts } from "./texts.js";

/** @param {HTMLElement} button */
export function setUpFullScreen(button) {
  button.addEventListener("click", async () => {
    // A browser may refuse, for example in a frame. The page stays as it is then.
    const change = document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen();
    await change.catch(() => {});
  });
  document.addEventListener("fullscreenchange", () => update(button));
  update(button);
}

/** @param {HTMLElement} button */
function update(button) {
  const active = Boolean(document.fullscreenElement);
  // A browser in kiosk mode fills the screen already, and the page cannot change that.
  button.hidden = !document.fullscreenEnabled || (!active && matchMedia("(display-mode: fullscreen)").matches);
  const key = active ? "kiosk.leaveFullScreen" : "kiosk.fullScreen";
  button.dataset.textLabel = button.dataset.textTitle = key;
  fillTexts(button.parentElement ?? document);
}
