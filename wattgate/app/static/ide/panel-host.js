/** The rail of panels and the panel that is open. A panel is mounted when it is opened first. */

import { element, find, findAll } from "../shared/dom.js";

/** @import { MountedPanel, Panel, Workspace } from "./workspace.js" */

const OPEN_KEY = "wattgate.ide.panel";
/** The panel that is open at the first visit. */
const FIRST = "guides";
const NONE = "none";
const SVG = "http://www.w3.org/2000/svg";

export class PanelHost {
  #workspace;
  #panels;
  #rail = find(document, ".rail");
  #aside = find(document, ".panel");
  /** @type {Map<string, { section: HTMLElement, mounted: MountedPanel }>} */
  #mounted = new Map();
  /** @type {string | null} */
  #open = null;

  /**
   * @param {Workspace} workspace
   * @param {Panel[]} panels
   */
  constructor(workspace, panels) {
    this.#workspace = workspace;
    this.#panels = panels;
    for (const { id, title, icon } of panels) {
      const button = element("button", { type: "button", "aria-pressed": "false", "data-panel": id, "data-testid": `panel-${id}` });
      button.append(drawIcon(icon), element("span", {}, title));
      button.addEventListener("click", () => this.toggle(id));
      this.#rail.append(button);
    }
    this.#rail.hidden = !panels.length;
    document.body.addEventListener("panechange", (event) => {
      if (event instanceof CustomEvent && event.detail === "panel" && !this.#open && panels.length) this.show(panels[0].id);
    });
    const last = localStorage.getItem(OPEN_KEY) ?? FIRST;
    if (innerWidth > 800) this.show(last);
  }

  /** @param {string} id */
  toggle(id) {
    if (this.#open === id && innerWidth > 800) this.close();
    else this.show(id);
  }

  close() {
    const open = this.#open && this.#mounted.get(this.#open);
    if (open) {
      open.section.hidden = true;
      open.mounted.hidden?.();
    }
    this.#setOpen(null);
  }

  /**
   * @param {string} id
   * @param {unknown} [detail]
   */
  show(id, detail) {
    const panel = this.#panels.find((one) => one.id === id);
    if (!panel) return;
    if (this.#open !== id) this.close();
    const { section, mounted } = this.#mounted.get(id) ?? this.#mount(panel);
    section.hidden = false;
    this.#setOpen(id);
    mounted.shown?.(detail);
  }

  /** @param {Panel} panel */
  #mount({ id, title, mount }) {
    const body = element("div", { class: "panel-body" });
    const close = element("button", { type: "button", class: "icon-button", "aria-label": `Close ${title}`, title: "Close" }, "×");
    close.addEventListener("click", () => {
      this.close();
      find(this.#rail, `[data-panel="${id}"]`).focus();
    });
    const section = element("section", { class: "panel-section", "aria-label": title }, element("header", { class: "panel-head" }, element("h2", {}, title), close), body);
    this.#aside.append(section);
    const entry = { section, mounted: mount(body, this.#workspace) ?? {} };
    this.#mounted.set(id, entry);
    return entry;
  }

  /** @param {string | null} id */
  #setOpen(id) {
    this.#open = id;
    this.#aside.hidden = id === null;
    for (const button of findAll(this.#rail, "button")) button.setAttribute("aria-pressed", String(button.dataset.panel === id));
    localStorage.setItem(OPEN_KEY, id ?? NONE);
  }
}

/** @param {string} path */
function drawIcon(path) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const shape = document.createElementNS(SVG, "path");
  shape.setAttribute("d", path);
  svg.append(shape);
  return svg;
}
