/** What comes of a template, but for the mail itself: its line in a list, its text, and who gets it. */

export class Result {
  #root;

  constructor(root) {
    this.#root = root;
  }

  set view(name) {
    for (const one of this.#root.querySelectorAll(".shown")) one.hidden = one.dataset.view !== name;
  }

  show({ subject, preheader, text, textMade, culturesTried, chosen, coverage }) {
    this.#tell("[data-testid=shown-subject]", subject || "(no subject)");
    this.#tell("[data-testid=shown-preheader]", preheader ?? "");
    this.#tell(".origin", textMade ? "Made from the HTML" : "The template’s own text");
    this.#tell(".plain pre", text ?? "It cannot be rendered.");
    this.#list(".tried", culturesTried);
    this.#tell(
      ".chosen",
      chosen ? `This reader gets “${chosen.name}” in ${chosen.cultureCode}.` : "No saved template is in use for this reader.",
    );
    this.#list(
      ".coverage",
      coverage.map(({ cultureCode, template }) => `${cultureCode}: ${template.name}${template.active ? "" : " (not in use)"}`),
    );
  }

  #tell(selector, text) {
    this.#root.querySelector(selector).textContent = text;
  }

  #list(selector, texts) {
    const items = texts.map((text) => {
      const item = document.createElement("li");
      item.textContent = text;
      return item;
    });
    this.#root.querySelector(selector).replaceChildren(...items);
  }
}
