/**
 * An emulation of mail clients that adapt a mail to dark mode in part: light backgrounds become dark and dark text
 * becomes light. Colours that are already dark, or vivid, stay. Real clients differ in the details.
 */

const DARK_BACKGROUND = "#1b1b1f";
const LIGHT_TEXT = "#ececf1";
/** Backgrounds and borders lighter than this, from 0 to 1, become dark. */
const LIGHT_FROM = 0.6;
/** Text darker than this becomes light. */
const DARK_BELOW = 0.45;

const DOCTYPE = /^\s*<!doctype[^>]*>/i;

/** Attributes that such clients add, so that a mail can style itself: for the original colours of texts and backgrounds. */
const ORIGINAL_COLOURS = ["data-ogsc", "data-ogsb"];

/** @typedef {[red: number, green: number, blue: number]} Channels */

const canvas = document.createElement("canvas").getContext("2d");

/**
 * Return the HTML of a mail as such a client shows it.
 * @param {string} html
 * @returns {string}
 */
export function emulateDarkMode(html) {
  const [doctype] = html.match(DOCTYPE) ?? [""];
  const parsed = new DOMParser().parseFromString(html, "text/html");
  for (const element of parsed.querySelectorAll("[style], [bgcolor], [color]")) {
    if (element instanceof HTMLElement || element instanceof SVGElement) darken(element);
  }
  const base = parsed.createElement("style");
  base.textContent = `:where(body) { background-color: ${DARK_BACKGROUND}; color: ${LIGHT_TEXT}; }`;
  parsed.head.prepend(base);
  for (const name of ORIGINAL_COLOURS) parsed.documentElement.setAttribute(name, "");
  return doctype + parsed.documentElement.outerHTML;
}

/** @param {HTMLElement | SVGElement} element */
function darken(element) {
  const { style } = element;
  const background = channels(style.backgroundColor || element.getAttribute("bgcolor"));
  const text = channels(style.color || element.getAttribute("color"));
  const border = channels(style.borderColor);
  if (background && lightness(background) > LIGHT_FROM) style.backgroundColor = invertLightness(background);
  if (text && lightness(text) < DARK_BELOW) style.color = invertLightness(text);
  if (border && lightness(border) > LIGHT_FROM) style.borderColor = invertLightness(border);
}

/**
 * Return red, green and blue from 0 to 1, or null if the value is not an opaque colour.
 * @param {string | null} colour
 * @returns {Channels | null}
 */
function channels(colour) {
  if (!canvas || !colour) return null;
  // The canvas ignores a value that is not a colour, and writes an opaque colour as #rrggbb.
  canvas.fillStyle = "#010203";
  canvas.fillStyle = colour;
  const written = String(canvas.fillStyle);
  if (written === "#010203" || !written.startsWith("#")) return null;
  /** @param {number} start */
  const channel = (start) => parseInt(written.slice(start, start + 2), 16) / 255;
  return [channel(1), channel(3), channel(5)];
}

/** @param {Channels} colour */
function lightness(colour) {
  return (Math.max(...colour) + Math.min(...colour)) / 2;
}

/**
 * Return the colour of the same hue that is as light as this one is dark, but a little lighter than black.
 * @param {Channels} colour
 */
function invertLightness(colour) {
  const shift = 1.1 - Math.max(...colour) - Math.min(...colour);
  const [red, green, blue] = colour.map((channel) => Math.round(255 * Math.min(1, Math.max(0, channel + shift))));
  return `rgb(${red}, ${green}, ${blue})`;
}
