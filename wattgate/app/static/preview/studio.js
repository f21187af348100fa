/** The studio: what is edited on one side, and what comes of it on the other. */

import { Frame } from "./frame.js";
import { Report } from "./report.js";
import { Result } from "./result.js";
import { Shelf, options } from "./shelf.js";
import { Source } from "./source.js";
import { preview } from "./templates.js";
import { TestMail } from "./test-mail.js";

/** So long after the last stroke of a key the template is rendered. */
const PAUSE = 250;
const MADE = "made";
const GIVEN = "given";
/** Where the widest mail has no room at all, the page begins with the narrowest. */
const NARROW = matchMedia("(max-width: 44rem)");
const REFUSED = new Set(["UNAUTHENTICATED", "FORBIDDEN"]);

export class Studio {
  #root;
  #refused;
  #report;
  #result;
  #frame;
  #sources = {};
  #shelf;
  #test;
  #session = null;
  #alertTypes = [];
  #timer = 0;
  #asked = 0;
  #opened = "";

  /** `refused` is called with what to tell when the gateway does not let this log-in in. */
  constructor(root, { refused }) {
    this.#root = root;
    this.#refused = refused;
    this.#report = new Report(root.querySelector(".report"), (finding) => this.#goTo(finding));
    this.#shelf = new Shelf(root.querySelector("header"), {
      open: (template, said) => this.#open(template, said),
      leave: () => !this.#changed() || confirm("What you have written is not saved. Leave it?"),
    });
    this.#result = new Result(root.querySelector(".result"));
    this.#frame = new Frame(root.querySelector("iframe"));
    this.#test = new TestMail(root.querySelector("dialog.test-mail"), () => this.#toTry());
    for (const one of root.querySelectorAll(".source")) this.#sources[one.dataset.part] = new Source(one);
    this.#listen();
  }

  async start(session) {
    this.#session = session;
    this.#tell("Loading");
    try {
      await this.#load();
    } catch (error) {
      this.#failed(error);
    }
  }

  stop() {
    this.#session = null;
    this.#asked += 1;
    clearTimeout(this.#timer);
    this.#test.close();
  }

  #listen() {
    this.#do(".save", (token) => this.#shelf.save(token, this.#belonging(), this.#said()));
    this.#do(".publish", (token) => this.#shelf.publish(token, this.#said()));
    this.#do(".roll-back", (token) => this.#shelf.rollBack(token));
    this.#root.querySelector(".try").addEventListener("click", () => this.#test.open());
    this.#root.querySelector(".editor").addEventListener("input", (event) => this.#edited(event.target));
    for (const name of ["view", "width"]) {
      for (const radio of this.#root.querySelectorAll(`[name=${name}]`)) {
        radio.addEventListener("change", () => this.#look());
      }
    }
    this.#field("dark").addEventListener("change", () => this.#look());
    addEventListener("beforeunload", (event) => {
      if (this.#changed()) event.preventDefault();
    });
    if (NARROW.matches) this.#root.querySelector("[name=width]").checked = true;
    this.#look();
  }

  /** Do something with the template when a button is pressed, then load it again. */
  #do(selector, deed) {
    const button = this.#root.querySelector(selector);
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        await this.#load(await deed(this.#session.token));
      } catch (error) {
        this.#failed(error);
      } finally {
        button.disabled = false;
      }
    });
  }

  async #load(templateId) {
    const session = this.#session;
    const { alertTypes, alerts, open } = await this.#shelf.load(session.token, templateId);
    if (this.#session !== session) return;
    this.#alertTypes = alertTypes;
    options(this.#field("alertType"), [
      ...alertTypes.map((one) => [one.alertTypeId, `${one.systemAlertTypeId} ${one.name}`]),
      ["", "None yet"],
    ]);
    options(this.#field("dataFrom"), [
      [MADE, "Made from the variables"],
      [GIVEN, "As written here"],
      ...alerts.map((one) => [one.alertId, `Alert ${one.systemAlertTypeId}, ${day(one.createdAt)}`]),
    ]);
    open();
  }

  #field(name) {
    return this.#root.querySelector(`[name=${name}]`);
  }

  #chosen(name) {
    return this.#root.querySelector(`[name=${name}]:checked`).value;
  }

  #open(template, said) {
    this.#field("name").value = template?.name ?? said.name;
    this.#field("alertType").value = template?.alertTypeId ?? this.#alertTypes[0]?.alertTypeId ?? "";
    this.#field("channel").value = template?.channelType.toUpperCase() ?? "EMAIL";
    this.#field("culture").value = template?.cultureCode ?? "en-GB";
    for (const name of ["name", "alertType", "channel"]) this.#field(name).disabled = Boolean(template);
    this.#field("subject").value = said.subject;
    this.#field("preheader").value = said.preheader;
    this.#field("dataFrom").value = MADE;
    this.#sources.html.value = said.htmlTemplate;
    this.#sources.text.value = said.text ?? "";
    this.#opened = JSON.stringify(this.#said());
    this.#show("html");
    this.#render();
  }

  #edited(field) {
    if (field.name === "part") {
      this.#show(field.value);
      return;
    }
    if (field.closest(".source")?.dataset.part === "data") this.#field("dataFrom").value = GIVEN;
    clearTimeout(this.#timer);
    this.#tell("Rendering");
    this.#timer = setTimeout(() => this.#render(), PAUSE);
  }

  /** Show the source of a part. */
  #show(part) {
    for (const one of this.#root.querySelectorAll(".source")) one.hidden = one.dataset.part !== part;
    this.#root.querySelector(`[name=part][value=${part}]`).checked = true;
    this.#root.querySelector(".data-from").hidden = part !== "data";
  }

  #look() {
    const view = this.#chosen("view");
    this.#result.view = view;
    for (const name of [".widths", ".dark-label"]) this.#root.querySelector(name).hidden = view !== "mail";
    this.#frame.width = this.#chosen("width");
    this.#frame.dark = this.#field("dark").value;
  }

  /** Render what is written now. Of several renderings under way, the latest wins. */
  async #render() {
    clearTimeout(this.#timer);
    const mine = ++this.#asked;
    const data = this.#data();
    this.#root.querySelector(".try").hidden = this.#field("channel").value !== "EMAIL";
    this.#root.querySelector("[data-part=data] textarea").toggleAttribute("aria-invalid", data === null);
    if (!data) {
      this.#tell("The sample data is not JSON", "bad");
      return;
    }
    this.#tell("Rendering");
    try {
      const made = await preview(this.#session.token, { ...this.#input(), ...data });
      if (mine === this.#asked) this.#draw(made);
    } catch (error) {
      if (mine === this.#asked) this.#failed(error);
    }
  }

  #input() {
    const { htmlTemplate, ...said } = this.#said();
    return {
      alertTypeId: this.#field("alertType").value || null,
      channelType: this.#field("channel").value,
      cultureCode: this.#field("culture").value.trim() || null,
      html: htmlTemplate,
      ...said,
    };
  }

  /** Whether there is something that only this page knows. */
  #changed() {
    return this.#session !== null && JSON.stringify(this.#said()) !== this.#opened;
  }

  /** What a test mail is made of. */
  #toTry() {
    const data = this.#data();
    return { token: this.#session.token, input: data && { ...this.#input(), ...data } };
  }

  /** What a new template belongs to. */
  #belonging() {
    return {
      name: this.#field("name").value.trim(),
      alertTypeId: this.#field("alertType").value,
      channelType: this.#field("channel").value,
      cultureCode: this.#field("culture").value.trim(),
    };
  }

  /** What the template says, as it is written now. */
  #said() {
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
    if (from === MADE) return {};
    if (from !== GIVEN) return { alertId: from };
    try {
      const data = JSON.parse(this.#sources.data.value);
      return data && typeof data === "object" && !Array.isArray(data) ? { data } : null;
    } catch {
      return null;
    }
  }

  #draw(made) {
    if (this.#field("dataFrom").value !== GIVEN) this.#sources.data.value = JSON.stringify(made.data, null, 2);
    this.#frame.show(made.html ?? "");
    this.#result.show(made);
    this.#report.show(made.report);
    for (const part of ["html", "text"]) {
      this.#sources[part].mark(made.report.findings.filter((one) => one.part === part.toUpperCase()));
    }
    this.#tell(made.html === null ? "Cannot be rendered" : "Up to date", made.report.ok ? "good" : "bad");
  }

  #goTo({ part, line }) {
    if (part === "SUBJECT" || part === "PREHEADER") {
      this.#field(part.toLowerCase()).focus();
      return;
    }
    this.#show(part.toLowerCase());
    this.#sources[part.toLowerCase()].goTo(line ?? 1);
  }

  #failed(error) {
    if (!this.#session) return;
    if (!REFUSED.has(error.code)) {
      this.#tell(error.unreachable ? "The gateway cannot be reached" : error.message, "bad");
      return;
    }
    this.#refused(
      error.denied ? "Your log-in has ended. Please log in again." : "This account may not read templates.",
    );
  }

  #tell(text, state = "busy") {
    const status = this.#root.querySelector(".status");
    status.textContent = text;
    status.dataset.state = state;
  }
}

function day(instant) {
  return new Date(instant).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}
