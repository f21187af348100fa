/** Helpers for finding and building elements. Text is always added as text, so that no content can become markup. */

/**
 * A child of an element: a node, a text or a list of these. Null is left out.
 * @typedef {Node | string | null | Child[]} Child
 */

/**
 * Return the first element that matches a selector. Throw if there is none.
 * @param {ParentNode} root
 * @param {string} selector
 * @returns {HTMLElement}
 */
export function find(root, selector) {
  return findAs(root, selector, HTMLElement);
}

/**
 * Return the first element that matches a selector. Throw if there is none, or if it is not of the given class.
 * @template {Element} T
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => T} type
 * @returns {T}
 */
export function findAs(root, selector, type) {
  const found = root.querySelector(selector);
  if (!(found instanceof type)) throw new Error(`No ${type.name} matches "${selector}"`);
  return found;
}

/**
 * Return all HTML elements that match a selector.
 * @param {ParentNode} root
 * @param {string} selector
 * @returns {HTMLElement[]}
 */
export function findAll(root, selector) {
  return findAllAs(root, selector, HTMLElement);
}

/**
 * Return all elements of the given class that match a selector.
 * @template {Element} T
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => T} type
 * @returns {T[]}
 */
export function findAllAs(root, selector, type) {
  const found = [...root.querySelectorAll(selector)].filter((candidate) => candidate instanceof type);
  return /** @type {T[]} */ (found);
}

/**
 * Return the target of an event, or its nearest ancestor, that matches a selector. Null if there is none.
 * @param {Event} event
 * @param {string} selector
 * @returns {HTMLElement | null}
 */
export function closestTo({ target }, selector) {
  const found = target instanceof Element ? target.closest(selector) : null;
  return found instanceof HTMLElement ? found : null;
}

/**
 * Create an element. Attributes that are null or false and children that are null are left out.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | boolean | null>} attributes
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function element(tag, attributes = {}, ...children) {
  const created = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) created.setAttribute(name, value === true ? "" : value);
  }
  created.append(...flatten(children));
  return created;
}

/**
 * @param {Child[]} children
 * @returns {(Node | string)[]}
 */
function flatten(children) {
  return children.flatMap((child) => {
    if (Array.isArray(child)) return flatten(child);
    return child === null ? [] : [child];
  });
}

/**
 * Set a text that has changed. Setting the same text again would cause work for the browser's layout, and screen
 * readers would read it again.
 * @param {HTMLElement} part
 * @param {string} words
 */
export function setText(part, words) {
  if (part.textContent !== words) part.textContent = words;
}

/**
 * Create a `code` element.
 * @param {string} text
 * @returns {HTMLElement}
 */
export function code(text) {
  return element("code", {}, text);
}

/**
 * Return a sentence as nodes. Text between backticks becomes `code` elements.
 * @param {string} text
 * @returns {(Node | string)[]}
 */
export function prose(text) {
  return text.split("`").map((part, index) => (index % 2 ? code(part) : part));
}

/**
 * Create the element of a URL path: its parameters stand out, and it may wrap after each slash.
 * @param {string} path
 * @returns {HTMLElement}
 */
export function formatPath(path) {
  const parts = path.split(/({[^}]+}|\/)/).filter(Boolean);
  const children = parts.map((part) => {
    if (part === "/") return [part, element("wbr")];
    return part.startsWith("{") ? element("span", { class: "path-parameter" }, part) : part;
  });
  return element("code", { class: "path" }, children);
}

/** Remove the line that browsers show which cannot run the script of the page. The script calls this after its start. */
export function removeStartNotice() {
  document.querySelector(".start-notice")?.remove();
}
