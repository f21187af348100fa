/** What comes of a template, but for the mail itself: its line in a list, its text, and who gets it. */

export class Result {
  #root;

  constructor(root) {
    this.#root = root;
  }

  set view(name) {
    for (const panel of this.#root.querySelectorAll(".result-panel")) panel.hidden = panel.dataset.view !== name;
  }

  show({ subject, preheader, text, textMade, culturesTried, chosen, coverage }) {
    this.#setText("[data-testid=rendered-subject]", subject || "(no subject)");
    this.#setText("[data-testid=rendered-preheader]", preheader ?? "");
    this.#setText(".text-origin", textMade ? "Made from the HTML" : "The template’s own text");
    this.#setText(".plain pre", text ?? "It cannot be rendered.");
    this.#setList(".cultures-tried", culturesTried);
    this.#setText(
      ".selected-template",
      chosen ? `This reader gets “${chosen.name}” in ${chosen.cultureCode}.` : "No saved template is in use for this reader.",
    );
    this.#setList(
      ".coverage",
      coverage.map(({ cultureCode, template }) => `${cultureCode}: ${template.name}${template.active ? "" : " (not in use)"}`),
    );
  }

  #setText(selector, text) {
    this.#root.querySelector(selector).textContent = text;
  }

  #setList(selector, texts) {
    const items = texts.map((text) => {
      const item = document.createElement("li");
      item.textContent = text;
      return item;
    });
    this.#root.querySelector(selector).replaceChildren(...items);
  }
}
