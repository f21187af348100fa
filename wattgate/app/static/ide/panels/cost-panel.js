/** The panel of costs: what the document costs by dry run, the budget that is left, and the cost of polling. */

import { element } from "../../shared/dom.js";
import { formatCount } from "../../shared/quantities.js";
import { readRateLimit } from "../../shared/rate-limit.js";
import { describeBudget, formatShare, pollingCosts } from "./spending.js";

/** @import { Workspace } from "../workspace.js" */
/** @import { Cost } from "./spending.js" */

/** @type {import("../workspace.js").Panel} */
export const costPanel = {
  id: "cost",
  title: "Cost",
  icon: "M4 19V9M10 19V5M16 19v-7M3 21h18",
  mount: (root, workspace) => void new CostView(root, workspace),
};

class CostView {
  #root;
  #workspace;
  /** @type {Cost | null} */
  #cost = null;
  /** @type {number | null} */
  #window = null;

  /**
   * @param {HTMLElement} root
   * @param {Workspace} workspace
   */
  constructor(root, workspace) {
    this.#root = root;
    this.#workspace = workspace;
    root.classList.add("cost-panel");
    /** @param {Cost | null} cost */
    const show = (cost) => {
      this.#cost = cost;
      this.#window = cost?.window ?? this.#window;
      this.#render();
    };
    workspace.on("cost", show);
    workspace.on("response", ({ headers, body }) => {
      this.#window = readRateLimit(null, headers["ratelimit-policy"]).window ?? this.#window;
      this.#cost = body?.extensions?.cost ?? this.#cost;
      this.#render();
    });
    workspace.on("session", () => this.#render());
    show(workspace.cost);
    if (!workspace.cost) void this.#ask();
  }

  /** Ask once for the cost of the present document. While somebody types, the editor asks for that of short documents. */
  async #ask() {
    try {
      const { query, variables, operationName, headers } = this.#workspace.currentRequest();
      const received = await this.#workspace.dryRun({ query, variables, operationName }, { headers });
      // The editor may have asked in the meantime.
      if (!received || this.#workspace.cost) return;
      this.#window = readRateLimit(null, received.headers["ratelimit-policy"]).window ?? this.#window;
      this.#cost = received.body?.extensions?.cost ?? null;
      this.#render();
    } catch {
      // There is no document that can run, or no connection. The panel says so.
    }
  }

  #render() {
    this.#root.replaceChildren(...(this.#cost ? this.#describe(this.#cost) : [this.#explain()]), this.#about());
  }

  #explain() {
    return element("p", { class: "panel-note", "data-testid": "no-cost" }, "A valid operation shows its cost here while you type. A dry run executes nothing.");
  }

  /** @param {Cost} cost */
  #describe(cost) {
    const kind = this.#workspace.operation?.kind;
    const what = kind === "subscription" ? "to begin, with one event" : "for one run";
    return [
      element("p", { class: "cost-units", "data-testid": "cost-units" }, element("strong", {}, formatCount(cost.estimated)), ` units ${what}`),
      ...this.#budget(cost),
      kind === "query" ? this.#polling(cost) : null,
    ].filter((one) => one !== null);
  }

  /** @param {Cost} cost */
  #budget(cost) {
    const text = element("p", { "data-testid": "budget" }, describeBudget(cost));
    const shared = "Not logged in: all callers without credentials share this budget.";
    const note = this.#hasCredentials ? null : element("p", { class: "panel-note", "data-testid": "anonymous" }, shared);
    if (cost.remaining === undefined || !cost.limit) return [text, note];
    const bar = element("meter", { min: "0", max: String(cost.limit), low: String(cost.limit / 5), "aria-label": "Budget left" });
    bar.value = cost.remaining;
    return [element("div", { class: "budget-bar" }, bar), text, note];
  }

  get #hasCredentials() {
    return Object.keys(this.#workspace.requestHeaders()).some((name) => /^(token|authorization)$/i.test(name));
  }

  /** @param {Cost} cost */
  #polling(cost) {
    const rows = pollingCosts(cost, this.#window).map(({ label, units, budget }) => {
      const share = budget === null ? "" : formatShare(budget);
      return element(
        "tr",
        { class: budget !== null && budget > 1 ? "too-much" : null },
        element("th", { scope: "row" }, label),
        element("td", {}, formatCount(units)),
        element("td", {}, share),
      );
    });
    const heads = ["Every", "Units in an hour", "Of the budget"].map((title) => element("th", { scope: "col" }, title));
    return element(
      "table",
      { class: "polling", "data-testid": "polling" },
      element("caption", {}, "The cost of polling"),
      element("thead", {}, element("tr", {}, heads)),
      element("tbody", {}, rows),
    );
  }

  #about() {
    return element(
      "p",
      { class: "panel-note" },
      "The estimate assumes sizes for lists that no argument limits. After a run, the response shows the real charge. A subscription often costs less than polling.",
    );
  }
}
