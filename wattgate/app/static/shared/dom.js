/** Building elements. Text always goes in as text, so nothing in a document can become markup. */

/** An element with attributes (null and false ones are left out) and children; null children are left out. */
export function element(tag, attributes = {}, ...children) {
  const created = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) created.setAttribute(name, value === true ? "" : value);
  }
  created.append(...children.flat(Infinity).filter((child) => child !== null));
  return created;
}

export const code = (text) => element("code", {}, text);

/** A sentence in which `backticks` enclose code. */
export function prose(text) {
  return text.split("`").map((part, index) => (index % 2 ? code(part) : part));
}

/** A path, of which the parameters stand out and which may break after each slash. */
export function formatPath(path) {
  const parts = path.split(/({[^}]+}|\/)/).filter(Boolean);
  const shown = parts.map((part) => {
    if (part === "/") return [part, element("wbr")];
    return part.startsWith("{") ? element("span", { class: "path-parameter" }, part) : part;
  });
  return element("code", { class: "path" }, shown);
}
