/** The studio: what is edited on one side, and what comes of it on the other. */

import { MailFrame } from "./mail-frame.js";
import { Report } from "./report.js";
import { Result } from "./result.js";
import { TemplateList, setOptions } from "./template-list.js";
import { SourceEditor } from "./source-editor.js";
import { previewTemplate } from "./templates.js";
import { TestMailDialog } from "./test-mail-dialog.js";

/** So long after the last stroke of a key the template is rendered. */
const RENDER_DELAY = 250;
const GENERATED = "generated";
const WRITTEN = "written";
/** Where the widest mail has no room at all, the page begins with the narrowest. */
const NARROW = matchMedia("(max-width: 44rem)");
const REFUSED_CODES = new Set(["UNAUTHENTICATED", "FORBIDDEN"]);

export class TemplateEditor {
  #root;
  #onRefused;
  #report;
  #result;
  #frame;
  #sources = {};
  #templateList;
  #testMailDialog;
  #session = null;
  #alertTypes = [];
  #timer = 0;
  #renderNumber = 0;
  #savedContent = "";

  /** `onRefused` is called with what to tell when the gateway does not let this log-in in. */
  constructor(root, { onRefused }) {
    this.#root = root;
    this.#onRefused = onRefused;
    this.#report = new Report(root.querySelector(".report"), (finding) => this.#goTo(finding));
    this.#templateList = new TemplateList(root.querySelector("header"), {
      onOpen: (template, content) => this.#openTemplate(template, content),
      mayLeave: () => !this.#changed() || confirm("What you have written is not saved. Leave it?"),
    });
    this.#result = new Result(root.querySelector(".result"));
    this.#frame = new MailFrame(root.querySelector("iframe"));
    this.#testMailDialog = new TestMailDialog(root.querySelector("dialog.test-mail"), () => this.#testMailRequest());
    for (const element of root.querySelectorAll(".source")) this.#sources[element.dataset.part] = new SourceEditor(element);
    this.#listen();
  }

  async start(session) {
    this.#session = session;
    this.#showStatus("Loading");
    try {
      await this.#load();
    } catch (error) {
      this.#failed(error);
    }
  }

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
    this.#root.querySelector(".send-test").addEventListener("click", () => this.#testMailDialog.open());
    this.#root.querySelector(".editor").addEventListener("input", (event) => this.#edited(event.target));
    for (const name of ["view", "width"]) {
      for (const radio of this.#root.querySelectorAll(`[name=${name}]`)) {
        radio.addEventListener("change", () => this.#updateView());
      }
    }
    this.#field("dark").addEventListener("change", () => this.#updateView());
    addEventListener("beforeunload", (event) => {
      if (this.#changed()) event.preventDefault();
    });
    if (NARROW.matches) this.#root.querySelector("[name=width]").checked = true;
    this.#updateView();
  }

  /** Do something with the template when a button is pressed, then load it again. */
  #onAction(selector, action) {
    const button = this.#root.querySelector(selector);
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        await this.#load(await action(this.#session.token));
      } catch (error) {
        this.#failed(error);
      } finally {
        button.disabled = false;
      }
    });
  }

  async #load(templateId) {
    const session = this.#session;
    const { alertTypes, alerts, open } = await this.#templateList.load(session.token, templateId);
    if (this.#session !== session) return;
    this.#alertTypes = alertTypes;
    setOptions(this.#field("alertType"), [
      ...alertTypes.map((type) => [type.alertTypeId, `${type.systemAlertTypeId} ${type.name}`]),
      ["", "None yet"],
    ]);
    setOptions(this.#field("dataFrom"), [
      [GENERATED, "Made from the variables"],
      [WRITTEN, "As written here"],
      ...alerts.map((alert) => [alert.alertId, `Alert ${alert.systemAlertTypeId}, ${formatTime(alert.createdAt)}`]),
    ]);
    open();
  }

  #field(name) {
    return this.#root.querySelector(`[name=${name}]`);
  }

  #checkedValue(name) {
    return this.#root.querySelector(`[name=${name}]:checked`).value;
  }

  #openTemplate(template, content) {
    this.#field("name").value = template?.name ?? content.name;
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

  #edited(field) {
    if (field.name === "part") {
      this.#showSource(field.value);
      return;
    }
    if (field.closest(".source")?.dataset.part === "data") this.#field("dataFrom").value = WRITTEN;
    clearTimeout(this.#timer);
    this.#showStatus("Rendering");
    this.#timer = setTimeout(() => this.#render(), RENDER_DELAY);
  }

  /** Show the source of a part. */
  #showSource(part) {
    for (const element of this.#root.querySelectorAll(".source")) element.hidden = element.dataset.part !== part;
    this.#root.querySelector(`[name=part][value=${part}]`).checked = true;
    this.#root.querySelector(".data-from").hidden = part !== "data";
  }

  #updateView() {
    const view = this.#checkedValue("view");
    this.#result.view = view;
    for (const name of [".widths", ".dark-label"]) this.#root.querySelector(name).hidden = view !== "mail";
    this.#frame.width = this.#checkedValue("width");
    this.#frame.darkMode = this.#field("dark").value;
  }

  /** Render what is written now. Of several renderings under way, the latest wins. */
  async #render() {
    clearTimeout(this.#timer);
    const renderNumber = ++this.#renderNumber;
    const data = this.#data();
    this.#root.querySelector(".send-test").hidden = this.#field("channel").value !== "EMAIL";
    this.#root.querySelector("[data-part=data] textarea").toggleAttribute("aria-invalid", data === null);
    if (!data) {
      this.#showStatus("The sample data is not JSON", "bad");
      return;
    }
    this.#showStatus("Rendering");
    try {
      const rendered = await previewTemplate(this.#session.token, { ...this.#input(), ...data });
      if (renderNumber === this.#renderNumber) this.#showRendered(rendered);
    } catch (error) {
      if (renderNumber === this.#renderNumber) this.#failed(error);
    }
  }

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

  /** Whether there is something that only this page knows. */
  #changed() {
    return this.#session !== null && JSON.stringify(this.#content()) !== this.#savedContent;
  }

  /** What a test mail is rendered of. */
  #testMailRequest() {
    const data = this.#data();
    return { token: this.#session.token, input: data && { ...this.#input(), ...data } };
  }

  /** What a new template belongs to. */
  #attributes() {
    return {
      name: this.#field("name").value.trim(),
      alertTypeId: this.#field("alertType").value,
      channelType: this.#field("channel").value,
      cultureCode: this.#field("culture").value.trim(),
    };
  }

  /** What the template says, as it is written now. */
  #content() {
    return {
      subject: this.#field("subject").value,
      preheader: this.#field("preheader").value,
      htmlTemplate: this.#sources.html.value,
      text: this.#sources.text.value || null,
    };
  }

  /** What the input says of the data; null where what is written is no object of JSON. */
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

  #showRendered(rendered) {
    if (this.#field("dataFrom").value !== WRITTEN) this.#sources.data.value = JSON.stringify(rendered.data, null, 2);
    this.#frame.show(rendered.html ?? "");
    this.#result.show(rendered);
    this.#report.show(rendered.report);
    for (const part of ["html", "text"]) {
      this.#sources[part].markLines(rendered.report.findings.filter((finding) => finding.part === part.toUpperCase()));
    }
    this.#showStatus(rendered.html === null ? "Cannot be rendered" : "Up to date", rendered.report.ok ? "good" : "bad");
  }

  #goTo({ part, line }) {
    if (part === "SUBJECT" || part === "PREHEADER") {
      this.#field(part.toLowerCase()).focus();
      return;
    }
    this.#showSource(part.toLowerCase());
    this.#sources[part.toLowerCase()].goTo(line ?? 1);
  }

  #failed(error) {
    if (!this.#session) return;
    if (!REFUSED_CODES.has(error.code)) {
      this.#showStatus(error.unreachable ? "The gateway cannot be reached" : error.message, "bad");
      return;
    }
    this.#onRefused(
      error.denied ? "Your log-in has ended. Please log in again." : "This account may not read templates.",
    );
  }

  #showStatus(text, state = "busy") {
    const status = this.#root.querySelector(".status");
    status.textContent = text;
    status.dataset.state = state;
  }
}

function formatTime(instant) {
  return new Date(instant).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}
