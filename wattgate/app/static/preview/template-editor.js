/** The template editor: the source of a template on one side, and the rendered mail on the other. */

import { ConfirmDialog } from "../shared/confirm-dialog.js";
import { formatTime } from "../shared/date-format.js";
import { find, findAs } from "../shared/dom.js";
import { toGatewayError } from "../shared/gateway.js";
import { MailFrame } from "../shared/mail-frame.js";
import { CompareDialog } from "./compare-dialog.js";
import { LocalDrafts } from "./local-drafts.js";
import { setUpMenu } from "./menu.js";
import { Naming } from "./naming.js";
import { NoticeBar } from "./notice-bar.js";
import { Publication } from "./publication.js";
import { Report } from "./report.js";
import { Result } from "./result.js";
import { ShareDialog } from "./share-dialog.js";
import { TemplateForm } from "./template-form.js";
import { TemplateList, isSameContent } from "./template-list.js";
import { describeState, warnOfDuplicates } from "./template-state.js";
import { createTemplate, addVersion, loadAlertType, previewTemplate } from "./templates.js";
import { TestMailDialog } from "./test-mail-dialog.js";
import { VariablesMenu } from "./variables-menu.js";
import { setUpViewControls } from "./view-controls.js";

/** @import { Session } from "../shared/session.js" */
/** @import { RenderedTemplate, TemplateReport } from "./templates.js" */

/** Milliseconds after the last change at which the template is rendered. */
const RENDER_DELAY = 250;
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
  /** @type {TemplateForm} */
  #form;
  /** @type {TemplateList} */
  #list;
  /** @type {NoticeBar} */
  #notice;
  /** @type {ConfirmDialog} */
  #confirmDialog;
  /** @type {CompareDialog} */
  #compareDialog;
  /** @type {ShareDialog} */
  #shareDialog;
  /** @type {TestMailDialog} */
  #testMailDialog;
  /** @type {VariablesMenu} */
  #variables;
  #drafts = new LocalDrafts(localStorage);
  /** @type {Session | null} */
  #session = null;
  /** @type {TemplateReport | null} */
  #lastReport = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #renderNumber = 0;
  /** The alert type whose variables and alerts are offered. */
  #offeredType = "";
  #isBusy = false;

  /**
   * @param {HTMLElement} root
   * @param {(message: string) => void} onRefused  Called with a message when the gateway rejects the session.
   */
  constructor(root, onRefused) {
    this.#root = root;
    this.#onRefused = onRefused;
    this.#form = new TemplateForm(find(root, ".editor"), () => this.#edited());
    const tryLinks = () => this.#render(true);
    this.#report = new Report(find(root, ".report"), (finding) => this.#form.goTo(finding), tryLinks);
    this.#list = new TemplateList(find(root, "header"), {
      onOpen: () => this.#openTemplate(),
      mayLeave: () => this.#mayLeave(),
    });
    this.#notice = new NoticeBar(find(root, ".notice"));
    this.#result = new Result(find(root, ".result"));
    this.#frame = new MailFrame(findAs(root, "iframe", HTMLIFrameElement));
    const dialog = (/** @type {string} */ name) => findAs(root, `dialog.${name}`, HTMLDialogElement);
    this.#confirmDialog = new ConfirmDialog(dialog("confirmation"));
    this.#compareDialog = new CompareDialog(dialog("compare"));
    this.#shareDialog = new ShareDialog(dialog("share"));
    this.#testMailDialog = new TestMailDialog(dialog("test-mail"), () => {
      return { token: this.#token, input: this.#form.previewInput };
    });
    const listbox = find(root, ".completion");
    this.#variables = new VariablesMenu(find(root, ".variables-menu"), listbox, this.#form.textFields, (field) => {
      this.#form.reveal(field);
    });
    this.#listen();
  }

  /**
   * Load the templates of the session's application.
   * @param {Session} session
   */
  async start(session) {
    this.#session = session;
    this.#showStatus("Loading");
    await this.#run(() => this.#load());
  }

  /** Stop rendering and close the dialogs. */
  stop() {
    this.#session = null;
    this.#renderNumber += 1;
    clearTimeout(this.#timer);
    this.#notice.hide();
    this.#variables.close();
    for (const dialog of [this.#confirmDialog, this.#compareDialog, this.#shareDialog, this.#testMailDialog]) {
      dialog.close();
    }
  }

  #listen() {
    const publication = new Publication({
      list: this.#list,
      form: this.#form,
      dialog: this.#confirmDialog,
      notice: this.#notice,
      token: () => this.#token,
      report: () => this.#lastReport,
      reload: (templateId, isSaved) => this.#reload(templateId, isSaved),
      run: (action) => void this.#run(action),
    });
    const naming = new Naming({
      list: this.#list,
      form: this.#form,
      dialog: this.#confirmDialog,
      notice: this.#notice,
      drafts: this.#drafts,
      token: () => this.#token,
      reload: (templateId) => this.#reload(templateId),
      edited: () => this.#edited(),
    });
    this.#onClick(".save", () => this.#run(() => this.#save()));
    this.#onClick(".publish", () => this.#run(() => publication.publish()));
    this.#onClick(".roll-back", () => this.#run(() => publication.rollBack()));
    this.#onClick(".archive", () => this.#run(() => publication.archive()));
    this.#onClick(".restore", () => this.#run(() => publication.restore()));
    this.#onClick(".translate", () => this.#run(() => naming.addTranslation()));
    this.#onClick(".rename", () => this.#run(() => naming.rename()));
    this.#onClick(".compare", () => this.#compare());
    this.#onClick(".share", () => this.#share());
    this.#onClick(".send-test", () => this.#testMailDialog.open());
    setUpMenu(find(this.#root, "header .menu"));
    setUpViewControls(find(this.#root, ".result"), this.#result, this.#frame);
    addEventListener("beforeunload", (event) => {
      if (this.#changed()) event.preventDefault();
    });
  }

  /**
   * @param {string} selector
   * @param {() => void} onClick
   */
  #onClick(selector, onClick) {
    find(this.#root, selector).addEventListener("click", onClick);
  }

  /**
   * Run an action that no other one may interrupt, and show its error.
   * @param {() => Promise<void>} action
   */
  async #run(action) {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      await action();
    } catch (error) {
      this.#showFailure(error, (message) => this.#notice.show(message, null, "bad"));
    } finally {
      this.#isBusy = false;
    }
  }

  get #token() {
    return this.#session?.token ?? "";
  }

  /** @param {string} [templateId] */
  async #load(templateId) {
    const session = this.#session;
    const { alertTypes, open } = await this.#list.load(this.#token, templateId);
    if (this.#session !== session) return;
    this.#form.setAlertTypes(alertTypes);
    this.#offeredType = "";
    open();
  }

  /**
   * Load the templates again, and open one. Keep changes that are not saved.
   * @param {string} templateId
   * @param {boolean} [isSaved]  Whether the content of the page was saved just now.
   */
  async #reload(templateId, isSaved = false) {
    if (isSaved) this.#drafts.remove(templateId);
    await this.#load(templateId);
  }

  /** Save the content as a draft version, or as a new template. */
  async #save() {
    const { template } = this.#list;
    const { attributes, content } = this.#form;
    let templateId = template?.templateId;
    if (templateId) await addVersion(this.#token, templateId, content);
    else templateId = await createTemplate(this.#token, { ...attributes, ...content });
    this.#drafts.remove(template?.templateId);
    await this.#load(templateId);
    this.#notice.show(template ? "The draft is saved. It is not sent until you publish it."
      : "The template is added as a draft. It is not sent until you publish it.");
  }

  #compare() {
    const { template, version } = this.#list;
    if (template && version) this.#compareDialog.open(template, version.version, this.#changed() ? this.#form.content : null);
  }

  #share() {
    const { template, version } = this.#list;
    if (!template || !version) return;
    const { templateId } = template;
    this.#shareDialog.open({ token: this.#token, templateId, version: version.version, isChanged: this.#changed() });
  }

  /** Show the template that was opened, with the changes that this browser has kept. */
  #openTemplate() {
    const { template, version, content } = this.#list;
    this.#notice.hide();
    const draft = this.#drafts.read(template?.templateId);
    const isOfVersion = draft?.version === (version?.version ?? 0) && !isSameContent(draft.content, content);
    if (draft && isOfVersion) {
      this.#form.show(template, draft.content, draft.attributes);
      this.#notice.show(`Your changes of ${formatTime(draft.savedAt)} are restored. They are not saved yet.`, {
        label: "Discard",
        run: () => this.#discard(),
      });
    } else {
      this.#form.show(template, content);
    }
    this.#updateState();
    this.#render();
    this.#offerVariables();
  }

  /** Offer the variables and the past alerts of the template's alert type. */
  async #offerVariables() {
    const { alertTypeId } = this.#form.attributes;
    if (alertTypeId === this.#offeredType) return;
    this.#offeredType = alertTypeId;
    try {
      const { variables, alerts } = alertTypeId
        ? await loadAlertType(this.#token, alertTypeId)
        : { variables: [], alerts: [] };
      if (alertTypeId !== this.#offeredType) return;
      this.#variables.show(variables);
      this.#form.setAlerts(alerts);
    } catch (error) {
      this.#showFailure(error, (message) => this.#notice.show(message, null, "bad"));
    }
  }

  #discard() {
    this.#drafts.remove(this.#list.template?.templateId);
    this.#openTemplate();
  }

  #edited() {
    const { template, version } = this.#list;
    const { attributes, content } = this.#form;
    if (this.#changed()) {
      const draft = { version: version?.version ?? 0, savedAt: Date.now(), content, attributes };
      this.#drafts.write(template?.templateId, draft);
    } else {
      this.#drafts.remove(template?.templateId);
    }
    this.#updateState();
    this.#offerVariables();
    clearTimeout(this.#timer);
    this.#showStatus("Rendering");
    this.#timer = setTimeout(() => this.#render(), RENDER_DELAY);
  }

  /** Return whether the page has changes that are not saved. */
  #changed() {
    return this.#session !== null && !isSameContent(this.#form.content, this.#list.content);
  }

  async #mayLeave() {
    if (!this.#changed()) return true;
    const confirmed = await this.#confirmDialog.ask({
      title: "Discard your changes?",
      details: ["Your changes are not saved. Save them as a draft to keep them."],
      action: "Discard changes",
      cancel: "Keep editing",
    });
    if (confirmed) this.#drafts.remove(this.#list.template?.templateId);
    return confirmed;
  }

  /** Show the state of the open version, and enable the actions that are possible. */
  #updateState() {
    const { template, version, templates } = this.#list;
    const isChanged = this.#changed();
    const { text, tone } = describeState(template, version, isChanged);
    const state = find(this.#root, ".edit-state");
    state.textContent = text;
    state.dataset.tone = tone;
    const warning = warnOfDuplicates(template, template ?? this.#form.attributes, templates);
    find(this.#root, ".duplicate").hidden = !warning;
    find(this.#root, ".duplicate").textContent = warning?.text ?? "";
    const isArchived = Boolean(template?.archivedAt);
    find(this.#root, ".save").textContent = template ? "Save draft" : "Add draft";
    this.#enable(".save", !isArchived && (isChanged || !template));
    const isPublished = version?.version === template?.published?.version;
    this.#enable(".publish", Boolean(template) && !isArchived && (isChanged || !isPublished));
    this.#enable(".roll-back", this.#list.formerVersion() !== null);
    this.#enable(".compare", Boolean(template && (isChanged || template.versions.length > 1)));
    this.#enable(".translate", Boolean(template));
    this.#enable(".rename", Boolean(template) && !isArchived);
    this.#enable(".share", Boolean(template) && !isArchived);
    this.#enable(".archive", Boolean(template));
    find(this.#root, ".archive").hidden = isArchived;
    find(this.#root, ".restore").hidden = !isArchived;
  }

  /**
   * @param {string} selector
   * @param {boolean} isPossible
   */
  #enable(selector, isPossible) {
    findAs(this.#root, selector, HTMLButtonElement).disabled = !isPossible;
  }

  /** Render the current content. If several requests are open, only the last one's response is shown. */
  async #render(tryLinks = false) {
    clearTimeout(this.#timer);
    const renderNumber = ++this.#renderNumber;
    const input = this.#form.previewInput;
    find(this.#root, ".send-test").hidden = this.#form.attributes.channelType !== "EMAIL";
    if (!input) {
      this.#showStatus("The sample data is not JSON", "bad");
      return;
    }
    this.#showStatus(tryLinks ? "Trying the links" : "Rendering");
    try {
      const rendered = await previewTemplate(this.#token, { ...input, tryLinks });
      if (renderNumber === this.#renderNumber) this.#showRendered(rendered);
    } catch (error) {
      if (renderNumber === this.#renderNumber) this.#showFailure(error, (message) => this.#showStatus(message, "bad"));
    }
  }

  /** @param {RenderedTemplate} rendered */
  #showRendered(rendered) {
    const { data, html, report } = rendered;
    this.#lastReport = report;
    this.#form.showReport(data, report);
    this.#frame.show(html ?? "");
    this.#result.show(rendered);
    this.#report.show(report);
    this.#showStatus(html === null ? "Cannot be rendered" : "Rendered", report.ok ? "good" : "bad");
  }

  /**
   * Show an error, or the login form if the gateway rejects the session.
   * @param {unknown} thrown
   * @param {(message: string) => void} show
   */
  #showFailure(thrown, show) {
    if (!this.#session) return;
    const error = toGatewayError(thrown);
    if (error.code === undefined || !REFUSED_CODES.has(error.code)) {
      show(error.unreachable ? "The gateway cannot be reached" : error.message);
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
