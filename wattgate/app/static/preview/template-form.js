/** The fields of the open template: its properties, its sources and where the sample data comes from. */

import { formatTime } from "../shared/date-format.js";
import { find, findAll, findAs } from "../shared/dom.js";
import { DEFAULT_NAME } from "./default-template.js";
import { highlightJson, highlightTemplate } from "./highlight.js";
import { SourceEditor } from "./source-editor.js";
import { setOptions } from "./template-list.js";

/**
 * @import {
 *   AlertType, Finding, PastAlert, PreviewInput, Template, TemplateAttributes, TemplateContent, TemplateReport,
 * } from "./templates.js"
 */

/** @typedef {HTMLInputElement | HTMLSelectElement} Field */

/** Values of the option that says where the sample data comes from; the others are ids of alerts. */
const NEWEST = "newest";
const SAMPLES = "samples";
const WRITTEN = "written";

export class TemplateForm {
  /** @type {HTMLElement} */
  #root;
  /** @type {Record<string, SourceEditor>} */
  #sources = {};
  /** @type {AlertType[]} */
  alertTypes = [];
  /** @type {string | null} */
  #templateId = null;

  /**
   * @param {HTMLElement} root
   * @param {() => void} onEdit  Called after each change.
   */
  constructor(root, onEdit) {
    this.#root = root;
    for (const source of findAll(root, ".source")) {
      const part = partOf(source);
      this.#sources[part] = new SourceEditor(source, part === "data" ? highlightJson : highlightTemplate);
    }
    root.addEventListener("input", ({ target }) => {
      if (!(target instanceof Element)) return;
      if (target instanceof HTMLInputElement && target.name === "part") {
        this.showSource(target.value);
        return;
      }
      if (target.closest('.source[data-part="data"]')) this.field("dataFrom").value = WRITTEN;
      onEdit();
    });
  }

  /**
   * Offer these alert types.
   * @param {AlertType[]} alertTypes
   */
  setAlertTypes(alertTypes) {
    this.alertTypes = alertTypes;
    setOptions(this.#select("alertType"), [
      ...alertTypes.map((type) => option(type.alertTypeId, `${type.systemAlertTypeId} ${type.name}`)),
      option("", "None yet"),
    ]);
    this.setAlerts([]);
  }

  /**
   * Offer these past alerts as sample data, and keep the selected choice if it is still there.
   * @param {PastAlert[]} alerts
   */
  setAlerts(alerts) {
    const select = this.#select("dataFrom");
    const selected = select.value;
    setOptions(select, [
      option(NEWEST, "Newest alert, or samples"),
      option(SAMPLES, "Samples of the variables"),
      option(WRITTEN, "As entered here"),
      ...alerts.map(({ alertId, systemAlertTypeId, createdAt }) =>
        option(alertId, `Alert ${systemAlertTypeId}, ${formatTime(createdAt)}`),
      ),
    ]);
    select.value = [...select.options].some(({ value }) => value === selected) ? selected : NEWEST;
  }

  /** The fields that may have variables: first the one that is shown at the start. */
  get textFields() {
    return [
      this.#sources.html.area,
      this.#sources.text.area,
      findAs(this.#root, "[name=subject]", HTMLInputElement),
      findAs(this.#root, "[name=preheader]", HTMLInputElement),
    ];
  }

  /**
   * Show the source that a text area belongs to.
   * @param {Element} field
   */
  reveal(field) {
    const source = field.closest(".source");
    if (source instanceof HTMLElement) this.showSource(partOf(source));
  }

  /**
   * Show a template.
   * @param {Template | null} template  Null for a new one.
   * @param {TemplateContent} content
   * @param {TemplateAttributes | null} [attributes]  Of a new template.
   */
  show(template, content, attributes = null) {
    const shown = template ?? attributes;
    this.#templateId = template?.templateId ?? null;
    this.field("name").value = shown?.name ?? DEFAULT_NAME;
    this.field("alertType").value = shown?.alertTypeId ?? this.alertTypes[0]?.alertTypeId ?? "";
    this.field("channel").value = shown?.channelType ?? "EMAIL";
    this.field("culture").value = shown?.cultureCode ?? "en-GB";
    for (const name of ["name", "alertType", "channel"]) this.field(name).disabled = Boolean(template);
    this.field("subject").value = content.subject;
    this.field("preheader").value = content.preheader;
    this.field("dataFrom").value = NEWEST;
    this.#sources.html.value = content.htmlTemplate;
    this.#sources.text.value = content.text ?? "";
    this.showSource("html");
  }

  /** @returns {TemplateAttributes} */
  get attributes() {
    return {
      name: this.field("name").value.trim(),
      alertTypeId: this.field("alertType").value,
      channelType: this.field("channel").value,
      cultureCode: this.field("culture").value.trim(),
    };
  }

  /** @returns {TemplateContent} */
  get content() {
    return {
      subject: this.field("subject").value,
      preheader: this.field("preheader").value,
      htmlTemplate: this.#sources.html.value,
      text: this.#sources.text.value || null,
    };
  }

  /**
   * The input of a preview, or null if the entered sample data is not a JSON object.
   * @returns {PreviewInput | null}
   */
  get previewInput() {
    const data = this.#data();
    find(this.#root, "[data-part=data] textarea").toggleAttribute("aria-invalid", data === null);
    if (!data) return null;
    const { htmlTemplate, ...content } = this.content;
    return {
      templateId: this.#templateId,
      alertTypeId: this.field("alertType").value || null,
      channelType: this.field("channel").value,
      cultureCode: this.field("culture").value.trim() || null,
      html: htmlTemplate,
      ...content,
      ...data,
    };
  }

  /**
   * Show the data that filled the template, and mark the lines of the findings.
   * @param {object} data
   * @param {TemplateReport} report
   */
  showReport(data, report) {
    if (this.field("dataFrom").value !== WRITTEN) this.#sources.data.value = JSON.stringify(data, null, 2);
    for (const part of ["html", "text"]) {
      this.#sources[part].markLines(report.findings.filter((finding) => finding.part === part.toUpperCase()));
    }
  }

  /**
   * Move the focus to the place of a finding.
   * @param {Finding} finding
   */
  goTo({ part, line }) {
    if (part === "SUBJECT" || part === "PREHEADER") {
      this.field(part.toLowerCase()).focus();
      return;
    }
    this.showSource(part.toLowerCase());
    this.#sources[part.toLowerCase()].goTo(line ?? 1);
  }

  /**
   * Show the source of a part: html, text or data.
   * @param {string} part
   */
  showSource(part) {
    for (const source of findAll(this.#root, ".source")) source.hidden = partOf(source) !== part;
    findAs(this.#root, `[name=part][value=${part}]`, HTMLInputElement).checked = true;
    find(this.#root, ".data-from").hidden = part !== "data";
  }

  /**
   * @param {string} name
   * @returns {Field}
   */
  field(name) {
    const field = find(this.#root, `[name=${name}]`);
    if (field instanceof HTMLInputElement || field instanceof HTMLSelectElement) return field;
    throw new Error(`${name} is not a field`);
  }

  /** @param {string} name */
  #select(name) {
    return findAs(this.#root, `[name=${name}]`, HTMLSelectElement);
  }

  /**
   * Return the part of the input that selects the sample data, or null if the entered data is not a JSON object.
   * @returns {Pick<PreviewInput, "data" | "alertId" | "samples"> | null}
   */
  #data() {
    const from = this.field("dataFrom").value;
    if (from === NEWEST) return {};
    if (from === SAMPLES) return { samples: true };
    if (from !== WRITTEN) return { alertId: from };
    try {
      const data = JSON.parse(this.#sources.data.value);
      return data && typeof data === "object" && !Array.isArray(data) ? { data } : null;
    } catch {
      return null;
    }
  }
}

/** @param {HTMLElement} source */
function partOf(source) {
  return source.dataset.part ?? "";
}

/**
 * @param {string} value
 * @param {string} text
 * @returns {[value: string, text: string]}
 */
function option(value, text) {
  return [value, text];
}
