/**
 * An emulation of mail clients that darken in part: light grounds become dark and dark text become light, and
 * whatever is dark or colourful already stays. It is near to what they do, not the same.
 */

const DARK_BACKGROUND = "#1b1b1f";
const LIGHT_TEXT = "#ececf1";
const LIGHT_FROM = 0.6;
const DARK_BELOW = 0.45;

const canvas = document.createElement("canvas").getContext("2d");

export function emulateDarkMode(html) {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  for (const element of parsed.querySelectorAll("[style], [bgcolor], [color]")) darken(element);
  const base = parsed.createElement("style");
  base.textContent = `:where(body) { background-color: ${DARK_BACKGROUND}; color: ${LIGHT_TEXT}; }`;
  parsed.head.prepend(base);
  return `<!doctype html>${parsed.documentElement.outerHTML}`;
}

function darken(element) {
  const { style } = element;
  const background = style.backgroundColor || element.getAttribute("bgcolor");
  const text = style.color || element.getAttribute("color");
  if (background && lightness(background) > LIGHT_FROM) style.backgroundColor = invertLightness(background);
  if (text && lightness(text) < DARK_BELOW) style.color = invertLightness(text);
  if (style.borderColor && lightness(style.borderColor) > LIGHT_FROM) style.borderColor = invertLightness(style.borderColor);
}

/** Red, green and blue from 0 to 1; null for what is no plain colour. */
function channels(colour) {
  canvas.fillStyle = "#010203";
  canvas.fillStyle = colour;
  if (canvas.fillStyle === "#010203" || !canvas.fillStyle.startsWith("#")) return null;
  return [1, 3, 5].map((at) => parseInt(canvas.fillStyle.slice(at, at + 2), 16) / 255);
}

function lightness(colour) {
  const rgb = channels(colour);
  return rgb ? (Math.max(...rgb) + Math.min(...rgb)) / 2 : 0.5;
}

/** The same hue, as light as it was dark, but never quite black. */
function invertLightness(colour) {
  const rgb = channels(colour);
  const shift = 1.1 - Math.max(...rgb) - Math.min(...rgb);
  const [red, green, blue] = rgb.map((channel) => Math.round(255 * Math.min(1, Math.max(0, channel + shift))));
  return `rgb(${red}, ${green}, ${blue})`;
}
