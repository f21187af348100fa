/** The in-home display of one person: keeps one of their homes up to date, live and by its history. */

import { Agenda } from "./agenda.js";
import { atLeast, jumped, now, set } from "../shared/clock.js";
import { WallClock } from "./format.js";
import { freshness } from "./frame.js";
import { listHomes, readHistory } from "../shared/gateway.js";
import { VIEWS } from "./history.js";
import { HistoryPanel } from "./history-panel.js";
import { energiesOf } from "./home.js";
import { HomePicker } from "./home-picker.js";
import { Link } from "./link.js";
import { PeriodPanel } from "./period-panel.js";
import { PowerPanel } from "./power-panel.js";
import { StatusBar } from "./status-bar.js";
import { SUBSCRIPTION } from "./subscription.js";
import { TariffPanel } from "./tariff-panel.js";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const RETRY_AFTER = 15 * SECOND;
/** New half hours come to all displays at the same moment; they had better not all ask in that moment. */
const SPREAD = 5 * SECOND;

export class Display {
  #root;
  #denied;
  #agenda = new Agenda();
  #link;
  #status;
  #power;
  #today;
  #month;
  #tariff;
  #history;
  #picker;
  #session = null;
  #home = null;
  #frame = null;
  #linkState = "connecting";
  #wallClock = new WallClock();

  /** `denied` is called when the gateway does not accept the session any longer. */
  constructor(root, { denied }) {
    const part = (name) => root.querySelector(`.${name}`);
    this.#root = root;
    this.#denied = denied;
    this.#status = new StatusBar(root.querySelector("header"));
    this.#power = new PowerPanel(part("power"));
    this.#today = new PeriodPanel(part("today"));
    this.#month = new PeriodPanel(part("month"));
    this.#tariff = new TariffPanel(part("tariff"));
    this.#history = new HistoryPanel(part("history"), () => this.#readHistory());
    this.#picker = new HomePicker(part("home"), (home) => this.#open(home));
    this.#link = new Link(this.#agenda, () => this.#session.token, {
      frame: ({ display }, first) => this.#receive(display, first),
      state: (state) => this.#enter(state),
      tokenNeeded: () => this.#renewAndReturn(),
      gone: (code) => this.#gone(code),
    });
    document.addEventListener("visibilitychange", () => this.#everySecond());
  }

  start(session) {
    this.#session = session;
    this.#clear();
    this.#renewInTime();
    this.#everySecond();
    this.#load();
  }

  stop() {
    this.#link.close();
    this.#agenda.clear();
    this.#session = this.#home = null;
    this.#clear();
  }

  async #load() {
    const homes = await this.#ask("load", () => listHomes(this.#session.token), () => this.#load());
    if (!homes) return;
    const home = this.#picker.offer(homes.filter((one) => Object.keys(energiesOf(one)).length > 0));
    this.#root.querySelector(".no-homes").hidden = Boolean(home);
    if (home) this.#open(home);
  }

  #open(home) {
    this.#home = home;
    this.#wallClock = new WallClock(home.timeZone ?? undefined);
    this.#clear();
    const energies = energiesOf(home);
    this.#today.begin(energies);
    this.#month.begin(energies);
    this.#history.begin(energies, this.#wallClock);
    this.#link.open(SUBSCRIPTION, { veId: home.veId });
    this.#readHistory();
  }

  #clear() {
    this.#frame = null;
    this.#linkState = "connecting";
    for (const panel of [this.#power, this.#today, this.#month, this.#tariff, this.#history]) panel.clear();
    this.#status.showAlerts(0);
  }

  /** Take a frame. The first one after a connection was made is the answer to a question just asked. */
  #receive(frame, first) {
    const at = Date.parse(frame.at);
    if (first) set(at);
    else atLeast(at);
    const known = this.#frame;
    this.#frame = frame;
    this.#show();
    if (known && (first || changed(known, frame))) this.#agenda.in(Math.random() * SPREAD, "history", () => this.#readHistory());
  }

  #enter(state) {
    this.#linkState = state;
    this.#show();
  }

  #show() {
    const frame = this.#frame;
    const linked = this.#linkState === "live";
    this.#status.showState(this.#linkState, frame && freshness(frame, now(), linked));
    if (!frame) return;
    this.#power.show(frame, this.#wallClock, linked);
    this.#today.show(frame.today, this.#wallClock);
    this.#month.show(frame.month, this.#wallClock);
    this.#tariff.show(frame.tariff, this.#wallClock);
    this.#status.showAlerts(frame.unreadAlerts);
  }

  /** Values grow old when nothing happens. */
  #everySecond() {
    if (!this.#session) return;
    if (jumped()) this.#link.connect();
    this.#status.showTime(this.#wallClock);
    this.#show();
    this.#agenda.in(SECOND - (now() % SECOND), "second", () => this.#everySecond());
  }

  async #readHistory() {
    const { view } = this.#history;
    const { period, reach } = VIEWS[view];
    const zone = this.#home.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
    const span = { start: now() - reach, end: now(), period, zone };
    const read = () => readHistory(this.#session.token, energiesOf(this.#home), span);
    const series = await this.#ask("history", read, () => this.#readHistory());
    if (series) this.#history.show(view, series);
    else this.#history.fail();
  }

  /** The answer; null when there is none, and then either the session is over or `again` is called in a while. */
  async #ask(name, question, again) {
    const [session, home] = [this.#session, this.#home];
    const past = () => session !== this.#session || home !== this.#home;
    this.#agenda.cancel(name);
    try {
      const answer = await question();
      return past() ? null : answer;
    } catch (error) {
      if (past()) return null;
      if (error.denied) this.#denied();
      else {
        console.warn(error);
        this.#agenda.in(RETRY_AFTER * (1 + Math.random()), name, again);
      }
      return null;
    }
  }

  /** Get a further token ahead of time, and show it over the connection that stands. */
  #renewInTime() {
    this.#agenda.in(this.#session.untilRenewal, "token", () => this.#renewAndReturn());
  }

  async #renewAndReturn() {
    const session = this.#session;
    const renewed = await this.#ask("token", () => session.renew().then(() => true), () => this.#renewAndReturn());
    if (!renewed) return;
    this.#link.present(session.token);
    this.#renewInTime();
  }

  /** The home is no longer there, or the page is older than the gateway: both are mended by beginning anew. */
  #gone(code) {
    const [delay, then] =
      code === "NOT_FOUND" ? [RETRY_AFTER, () => this.#load()] : [MINUTE, () => location.reload()];
    this.#agenda.in(delay * (1 + Math.random() * 4), "link", then);
  }
}

/** Whether more of the history is known than before. */
function changed(before, after) {
  return before.today.completeTo !== after.today.completeTo || before.today.end !== after.today.end;
}
