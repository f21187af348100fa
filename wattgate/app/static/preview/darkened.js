/**
 * An emulation of mail clients that darken in part: light grounds become dark and dark letters become light, and
 * whatever is dark or colourful already stays. It is near to what they do, not the same.
 */

const GROUND = "#1b1b1f";
const LETTERS = "#ececf1";
const LIGHT = 0.6;
const DARK = 0.45;

const painter = document.createElement("canvas").getContext("2d");

export function darkened(html) {
  const made = new DOMParser().parseFromString(html, "text/html");
  for (const element of made.querySelectorAll("[style], [bgcolor], [color]")) darken(element);
  const base = made.createElement("style");
  base.textContent = `:where(body) { background-color: ${GROUND}; color: ${LETTERS}; }`;
  made.head.prepend(base);
  return `<!doctype html>${made.documentElement.outerHTML}`;
}

function darken(element) {
  const { style } = element;
  const ground = style.backgroundColor || element.getAttribute("bgcolor");
  const letters = style.color || element.getAttribute("color");
  if (ground && lightness(ground) > LIGHT) style.backgroundColor = turned(ground);
  if (letters && lightness(letters) < DARK) style.color = turned(letters);
  if (style.borderColor && lightness(style.borderColor) > LIGHT) style.borderColor = turned(style.borderColor);
}

/** Red, green and blue from 0 to 1; null for what is no plain colour. */
function channels(colour) {
  painter.fillStyle = "#010203";
  painter.fillStyle = colour;
  if (painter.fillStyle === "#010203" || !painter.fillStyle.startsWith("#")) return null;
  return [1, 3, 5].map((at) => parseInt(painter.fillStyle.slice(at, at + 2), 16) / 255);
}

function lightness(colour) {
  const found = channels(colour);
  return found ? (Math.max(...found) + Math.min(...found)) / 2 : 0.5;
}

/** The same hue, as light as it was dark, but never quite black. */
function turned(colour) {
  const found = channels(colour);
  const shift = 1.1 - Math.max(...found) - Math.min(...found);
  const [red, green, blue] = found.map((one) => Math.round(255 * Math.min(1, Math.max(0, one + shift))));
  return `rgb(${red}, ${green}, ${blue})`;
}
