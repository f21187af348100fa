/** The first lines of a file, its profile, and its open questions with an example for each answer. */

import { text } from "../display/texts.js";
import { element, find, findAll, findAs, prose } from "../shared/dom.js";
import { formatAmount, formatSpan } from "./wording.js";

/** @import { Answer, Inspection, Question, Setting } from "./requests.js" */
/** @import { TextKey } from "../display/texts.js" */

/** @type {Record<string, TextKey>} */
const QUESTIONS = {
  times: "data.askTimes",
  dateOrder: "data.askDateOrder",
  unit: "data.askUnit",
  marks: "data.askMarks",
  decimal: "data.askMarks",
  column: "data.askColumn",
  epoch: "data.askEpoch",
};

/** @type {Record<string, TextKey>} */
const ANSWERS = {
  "times=start": "data.answerStart",
  "times=end": "data.answerEnd",
  "dateOrder=day-first": "data.answerDayFirst",
  "dateOrder=month-first": "data.answerMonthFirst",
  "dateOrder=year-first": "data.answerYearFirst",
  "decimal=comma": "data.answerDecimalComma",
  "decimal=point": "data.answerDecimalPoint",
  "thousands=comma": "data.answerThousandsComma",
  "thousands=point": "data.answerThousandsPoint",
  "epoch=utc": "data.answerUtc",
  "epoch=local": "data.answerLocal",
};

export class QuestionForm {
  /** @type {HTMLFormElement} */
  #form;
  /** @type {Question[]} */
  #questions = [];
  /** @type {Setting[]} */
  #answered = [];

  /**
   * @param {HTMLFormElement} form
   * @param {(settings: Setting[]) => void} onAnswers
   * @param {(file: File) => void} onProfile  Called with a file profile of the user's own.
   */
  constructor(form, onAnswers, onProfile) {
    this.#form = form;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const settings = this.#read();
      if (settings) onAnswers(settings);
    });
    form.addEventListener("change", () => this.#showError(""));
    const profile = findAs(form, "#own-profile", HTMLInputElement);
    profile.addEventListener("change", () => {
      if (profile.files?.[0]) onProfile(profile.files[0]);
      profile.value = ""; // so that the same file can be chosen again when it has been changed
    });
  }

  /**
   * Show a file. `answered` are the answers to earlier questions.
   * @param {string} name
   * @param {Inspection} inspection
   * @param {Setting[]} [answered]
   */
  show(name, inspection, answered = []) {
    this.#questions = inspection.questions;
    this.#answered = answered.filter(({ name: option }) => option !== "combine" && option !== "roundValues");
    find(this.#form, ".file-name").textContent = name;
    const recognized = inspection.title
      ? text("data.recognized", { title: inspection.title, encoding: inspection.encoding })
      : text("data.notRecognized");
    find(this.#form, ".recognized").textContent = recognized;
    this.#showLines(inspection);
    const warnings = inspection.warnings.map((warning) => element("li", { lang: "en" }, warning));
    find(this.#form, ".warnings").replaceChildren(...warnings);
    find(this.#form, ".questions").replaceChildren(...inspection.questions.map(toFieldset));
    for (const part of ["[type=submit]", ".more-options"]) find(this.#form, part).hidden = inspection.profile === null;
    this.#showError("");
  }

  focus() {
    find(this.#form, ".file-name").focus();
  }

  /** @param {Inspection} inspection */
  #showLines({ rows, lines }) {
    const [header = [], ...body] = rows;
    const table = find(this.#form, ".first-lines");
    table.hidden = rows.length === 0;
    find(table, "thead").replaceChildren(toRow(header, "th"));
    find(table, "tbody").replaceChildren(...body.map((row) => toRow(row, "td")));
    const raw = find(this.#form, ".raw-lines");
    raw.hidden = rows.length > 0;
    raw.textContent = lines.join("\n");
  }

  /** Return the answers, or null, and say what is missing, if a question has none. */
  #read() {
    const settings = [...this.#answered];
    for (const [position, { answers }] of this.#questions.entries()) {
      const chosen = this.#form.querySelector(`[name="question-${position}"]:checked`);
      if (!(chosen instanceof HTMLInputElement)) {
        this.#showError(text("data.unanswered"));
        findAs(this.#form, `[name="question-${position}"]`, HTMLInputElement).focus();
        return null;
      }
      settings.push(...answers[Number(chosen.value)].settings);
    }
    if (findAs(this.#form, "[name=combine]", HTMLInputElement).checked) settings.push({ name: "combine", value: "true" });
    if (findAs(this.#form, "[name=round]", HTMLInputElement).checked) settings.push({ name: "roundValues", value: "true" });
    return settings;
  }

  /** @param {string} message */
  #showError(message) {
    const error = find(this.#form, "#question-error");
    error.hidden = !message;
    error.textContent = message;
    for (const fieldset of findAll(this.#form, "fieldset")) {
      if (message) fieldset.setAttribute("aria-describedby", error.id);
      else fieldset.removeAttribute("aria-describedby");
    }
  }
}

/**
 * @param {string[]} cells
 * @param {"th" | "td"} tag
 */
function toRow(cells, tag) {
  return element("tr", {}, ...cells.map((cell) => element(tag, { scope: tag === "th" ? "col" : null }, cell)));
}

/**
 * @param {Question} question
 * @param {number} position
 */
function toFieldset({ option, text: english, answers }, position) {
  const key = QUESTIONS[option];
  const legend = key ? element("legend", {}, text(key)) : element("legend", { lang: "en" }, english);
  const choices = answers.map((answer, index) =>
    element(
      "label",
      { class: "answer" },
      element("input", { type: "radio", name: `question-${position}`, value: `${index}`, autocomplete: "off" }),
      element("span", {}, element("b", {}, answerWords(answer)), element("small", {}, ...prose(exampleWords(answer)))),
    ),
  );
  return element("fieldset", { "data-option": option }, legend, ...choices);
}

/** @param {Answer} answer */
function answerWords({ settings }) {
  return settings
    .map(({ name, value }) => {
      const key = ANSWERS[`${name}=${value}`];
      return key ? text(key) : value.replace(/^value=/, "");
    })
    .join(", ");
}

/** @param {Answer} answer */
function exampleWords({ example }) {
  if (!example) return text("data.noExample");
  const { line, text: source, start, end, value, unit } = example;
  return text("data.example", { line, source, span: formatSpan(start, end), value: formatAmount(value, unit ?? "") });
}
