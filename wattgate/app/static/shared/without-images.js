/** A mail as clients show it that load no images: texts of `alt` in their place, and no images of styles. */

const SOURCES = ["src", "srcset", "background", "poster"];
const IMAGE_ELEMENTS = "img, source, input, video, table, td, th, body";
const DOCTYPE = /^\s*<!doctype[^>]*>/i;
const STYLE_IMAGE = /url\([^)]*\)/gi;

/**
 * Return a mail without its images.
 * @param {string} html
 * @returns {string}
 */
export function removeImages(html) {
  const [doctype] = html.match(DOCTYPE) ?? [""];
  const parsed = new DOMParser().parseFromString(html, "text/html");
  for (const element of parsed.querySelectorAll(IMAGE_ELEMENTS)) {
    for (const name of SOURCES) element.removeAttribute(name);
  }
  for (const element of parsed.querySelectorAll("[style]")) {
    element.setAttribute("style", withoutStyleImages(element.getAttribute("style") ?? ""));
  }
  for (const sheet of parsed.querySelectorAll("style")) sheet.textContent = withoutStyleImages(sheet.textContent ?? "");
  return doctype + parsed.documentElement.outerHTML;
}

/** @param {string} css */
function withoutStyleImages(css) {
  return css.replace(STYLE_IMAGE, "none");
}
