/** The template editor: the source of a template on one side, and the rendered mail on the other. */

import { find, findAll, findAs } from "../shared/dom.js";
import { toGatewayError } from "../shared/gateway.js";
import { DEFAULT_NAME } from "./default-template.js";
import { MailFrame } from "./mail-frame.js";
import { Report } from "./report.js";
import { Result } from "./result.js";
import { SourceEditor } from "./source-editor.js";
import { TemplateList, setOptions } from "./template-list.js";
import { previewTemplate } from "./templates.js";
import { TestMailDialog } from "./test-mail-dialog.js";

/** @import { Session } from "../shared/session.js" */
/** @import { DarkMode } from "./mail-frame.js" */
/**
 * @import {
 *   AlertType, Finding, PreviewInput, RenderedTemplate, Template, TemplateAttributes, TemplateContent,
 * } from "./templates.js"
 */

/** @typedef {HTMLInputElement | HTMLSelectElement} Field */

/** Milliseconds after the last change at which the template is rendered. */
const RENDER_DELAY = 250;
/** Values of the option that says where the sample data comes from; the others are ids of alerts. */
const GENERATED = "generated";
const WRITTEN = "written";
/** On a screen that is too narrow for the widest mail, the page starts with the narrowest one. */
const NARROW = matchMedia("(max-width: 44rem)");
const REFUSED_CODES = new Set(["UNAUTHENTICATED", "FORBIDDEN"]);

export class TemplateEditor {
  /** @type {HTMLElement} */
  #root;
  /** @type {(message: string) => void} */
  #onRefused;
  /** @type {Report} */
  #report;
  /** @type {Result} */
  #result;
  /** @type {MailFrame} */
  #frame;
  /** @type {Record<string, SourceEditor>} */
  #sources = {};
  /** @type {TemplateList} */
  #templateList;
  /** @type {TestMailDialog} */
  #testMailDialog;
  /** @type {Session | null} */
  #session = null;
  /** @type {AlertType[]} */
  #alertTypes = [];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #renderNumber = 0;
  #savedContent = "";

  /**
   * @param {HTMLElement} root
   * @param {(message: string) => void} onRefused  Called with a message when the gateway rejects the session.
   */
  constructor(root, onRefused) {
    this.#root = root;
    this.#onRefused = onRefused;
    this.#report = new Report(find(root, ".report"), (finding) => this.#goTo(finding));
    this.#templateList = new TemplateList(find(root, "header"), {
      onOpen: (template, content) => this.#openTemplate(template, content),
      mayLeave: () => !this.#changed() || confirm("Your changes are not saved. Discard them?"),
    });
    this.#result = new Result(find(root, ".result"));
    this.#frame = new MailFrame(findAs(root, "iframe", HTMLIFrameElement));
    const dialog = findAs(root, "dialog.test-mail", HTMLDialogElement);
    this.#testMailDialog = new TestMailDialog(dialog, () => this.#testMailRequest());
    for (const source of findAll(root, ".source")) this.#sources[partOf(source)] = new SourceEditor(source);
    this.#listen();
  }

  /**
   * Load the templates of the session's application.
   * @param {Session} session
   */
  async start(session) {
    this.#session = session;
    this.#showStatus("Loading");
    try {
      await this.#load();
    } catch (error) {
      this.#showFailure(error);
    }
  }

  /** Stop rendering and close the dialog. */
  stop() {
    this.#session = null;
    this.#renderNumber += 1;
    clearTimeout(this.#timer);
    this.#testMailDialog.close();
  }

  #listen() {
    this.#onAction(".save", (token) => this.#templateList.save(token, this.#attributes(), this.#content()));
    this.#onAction(".publish", (token) => this.#templateList.publish(token, this.#content()));
    this.#onAction(".roll-back", (token) => this.#templateList.rollBack(token));
    find(this.#root, ".send-test").addEventListener("click", () => this.#testMailDialog.open());
    find(this.#root, ".editor").addEventListener("input", ({ target }) => this.#edited(target));
    for (const radio of findAll(this.#root, "[name=view], [name=width]")) {
      radio.addEventListener("change", () => this.#updateView());
    }
    this.#field("dark").addEventListener("change", () => this.#updateView());
    addEventListener("beforeunload", (event) => {
      if (this.#changed()) event.preventDefault();
    });
    if (NARROW.matches) findAs(this.#root, "[name=width]", HTMLInputElement).checked = true;
    this.#updateView();
  }

  /**
   * Run an action when a button is clicked, then load the templates again.
   * @param {string} selector
   * @param {(token: string) => Promise<string>} action  Returns the id of the template to open.
   */
  #onAction(selector, action) {
    const button = findAs(this.#root, selector, HTMLButtonElement);
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        await this.#load(await action(this.#token));
      } catch (error) {
        this.#showFailure(error);
      } finally {
        button.disabled = false;
      }
    });
  }

  get #token() {
    return this.#session?.token ?? "";
  }

  /** @param {string} [templateId] */
  async #load(templateId) {
    const session = this.#session;
    const { alertTypes, alerts, open } = await this.#templateList.load(this.#token, templateId);
    if (this.#session !== session) return;
    this.#alertTypes = alertTypes;
    setOptions(this.#select("alertType"), [
      ...alertTypes.map((type) => option(type.alertTypeId, `${type.systemAlertTypeId} ${type.name}`)),
      option("", "None yet"),
    ]);
    setOptions(this.#select("dataFrom"), [
      option(GENERATED, "Generated from the variables"),
      option(WRITTEN, "As entered here"),
      ...alerts.map(({ alertId, systemAlertTypeId, createdAt }) =>
        option(alertId, `Alert ${systemAlertTypeId}, ${formatTime(createdAt)}`),
      ),
    ]);
    open();
  }

  /**
   * @param {string} name
   * @returns {Field}
   */
  #field(name) {
    const field = find(this.#root, `[name=${name}]`);
    if (field instanceof HTMLInputElement || field instanceof HTMLSelectElement) return field;
    throw new Error(`${name} is not a field`);
  }

  /** @param {string} name */
  #select(name) {
    return findAs(this.#root, `[name=${name}]`, HTMLSelectElement);
  }

  /** @param {string} name */
  #checkedValue(name) {
    return findAs(this.#root, `[name=${name}]:checked`, HTMLInputElement).value;
  }

  /**
   * @param {Template | null} template  Null for a new one.
   * @param {TemplateContent} content
   */
  #openTemplate(template, content) {
    this.#field("name").value = template?.name ?? DEFAULT_NAME;
    this.#field("alertType").value = template?.alertTypeId ?? this.#alertTypes[0]?.alertTypeId ?? "";
    this.#field("channel").value = template?.channelType.toUpperCase() ?? "EMAIL";
    this.#field("culture").value = template?.cultureCode ?? "en-GB";
    for (const name of ["name", "alertType", "channel"]) this.#field(name).disabled = Boolean(template);
    this.#field("subject").value = content.subject;
    this.#field("preheader").value = content.preheader;
    this.#field("dataFrom").value = GENERATED;
    this.#sources.html.value = content.htmlTemplate;
    this.#sources.text.value = content.text ?? "";
    this.#savedContent = JSON.stringify(this.#content());
    this.#showSource("html");
    this.#render();
  }

  /** @param {EventTarget | null} field */
  #edited(field) {
    if (!(field instanceof Element)) return;
    if (field instanceof HTMLInputElement && field.name === "part") {
      this.#showSource(field.value);
      return;
    }
    if (field.closest('.source[data-part="data"]')) this.#field("dataFrom").value = WRITTEN;
    clearTimeout(this.#timer);
    this.#showStatus("Rendering");
    this.#timer = setTimeout(() => this.#render(), RENDER_DELAY);
  }

  /**
   * Show the source of a part: html, text or data.
   * @param {string} part
   */
  #showSource(part) {
    for (const source of findAll(this.#root, ".source")) source.hidden = partOf(source) !== part;
    findAs(this.#root, `[name=part][value=${part}]`, HTMLInputElement).checked = true;
    find(this.#root, ".data-from").hidden = part !== "data";
  }

  #updateView() {
    const view = this.#checkedValue("view");
    this.#result.setView(view);
    for (const name of [".widths", ".dark-label"]) find(this.#root, name).hidden = view !== "mail";
    this.#frame.setWidth(this.#checkedValue("width"));
    this.#frame.setDarkMode(/** @type {DarkMode} */ (this.#field("dark").value));
  }

  /** Render the current content. If several requests are open, only the last one's response is shown. */
  async #render() {
    clearTimeout(this.#timer);
    const renderNumber = ++this.#renderNumber;
    const data = this.#data();
    find(this.#root, ".send-test").hidden = this.#field("channel").value !== "EMAIL";
    find(this.#root, "[data-part=data] textarea").toggleAttribute("aria-invalid", data === null);
    if (!data) {
      this.#showStatus("The sample data is not JSON", "bad");
      return;
    }
    this.#showStatus("Rendering");
    try {
      const rendered = await previewTemplate(this.#token, { ...this.#input(), ...data });
      if (renderNumber === this.#renderNumber) this.#showRendered(rendered);
    } catch (error) {
      if (renderNumber === this.#renderNumber) this.#showFailure(error);
    }
  }

  /** @returns {PreviewInput} */
  #input() {
    const { htmlTemplate, ...content } = this.#content();
    return {
      alertTypeId: this.#field("alertType").value || null,
      channelType: this.#field("channel").value,
      cultureCode: this.#field("culture").value.trim() || null,
      html: htmlTemplate,
      ...content,
    };
  }

  /** Return whether the page has changes that are not saved. */
  #changed() {
    return this.#session !== null && JSON.stringify(this.#content()) !== this.#savedContent;
  }

  #testMailRequest() {
    const data = this.#data();
    return { token: this.#token, input: data && { ...this.#input(), ...data } };
  }

  /** @returns {TemplateAttributes} */
  #attributes() {
    return {
      name: this.#field("name").value.trim(),
      alertTypeId: this.#field("alertType").value,
      channelType: this.#field("channel").value,
      cultureCode: this.#field("culture").value.trim(),
    };
  }

  /** @returns {TemplateContent} */
  #content() {
    return {
      subject: this.#field("subject").value,
      preheader: this.#field("preheader").value,
      htmlTemplate: this.#sources.html.value,
      text: this.#sources.text.value || null,
    };
  }

  /**
   * Return the part of the input that selects the sample data, or null if the entered data is not a JSON object.
   * @returns {Pick<PreviewInput, "data" | "alertId"> | null}
   */
  #data() {
    const from = this.#field("dataFrom").value;
    if (from === GENERATED) return {};
    if (from !== WRITTEN) return { alertId: from };
    try {
      const data = JSON.parse(this.#sources.data.value);
      return data && typeof data === "object" && !Array.isArray(data) ? { data } : null;
    } catch {
      return null;
    }
  }

  /** @param {RenderedTemplate} rendered */
  #showRendered(rendered) {
    const { data, html, report } = rendered;
    if (this.#field("dataFrom").value !== WRITTEN) this.#sources.data.value = JSON.stringify(data, null, 2);
    this.#frame.show(html ?? "");
    this.#result.show(rendered);
    this.#report.show(report);
    for (const part of ["html", "text"]) {
      this.#sources[part].markLines(report.findings.filter((finding) => finding.part === part.toUpperCase()));
    }
    this.#showStatus(html === null ? "Cannot be rendered" : "Up to date", report.ok ? "good" : "bad");
  }

  /** @param {Finding} finding */
  #goTo({ part, line }) {
    if (part === "SUBJECT" || part === "PREHEADER") {
      this.#field(part.toLowerCase()).focus();
      return;
    }
    this.#showSource(part.toLowerCase());
    this.#sources[part.toLowerCase()].goTo(line ?? 1);
  }

  /** @param {unknown} thrown */
  #showFailure(thrown) {
    if (!this.#session) return;
    const error = toGatewayError(thrown);
    if (error.code === undefined || !REFUSED_CODES.has(error.code)) {
      this.#showStatus(error.unreachable ? "The gateway cannot be reached" : error.message, "bad");
      return;
    }
    this.#onRefused(
      error.unauthenticated ? "Your session has ended. Please log in again." : "This account may not read templates.",
    );
  }

  /**
   * @param {string} text
   * @param {"busy" | "good" | "bad"} state
   */
  #showStatus(text, state = "busy") {
    const status = find(this.#root, ".status");
    status.textContent = text;
    status.dataset.state = state;
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

/** @param {string} instant */
function formatTime(instant) {
  return new Date(instant).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}
