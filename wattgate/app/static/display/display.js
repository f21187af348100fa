/** The in-home display of one person: keeps one of their homes up to date, live and by its history. */

import { TimerQueue } from "./timer-queue.js";
import { advanceTo, detectJump, now, setTime } from "../shared/clock.js";
import { WallClock } from "./format.js";
import { freshnessAt } from "./frame.js";
import { listHomes, readHistory } from "../shared/gateway.js";
import { VIEWS } from "./history.js";
import { HistoryPanel } from "./history-panel.js";
import { resourceIdsByEnergy } from "./home.js";
import { HomePicker } from "./home-picker.js";
import { Connection } from "./connection.js";
import { PeriodPanel } from "./period-panel.js";
import { PowerPanel } from "./power-panel.js";
import { StatusBar } from "./status-bar.js";
import { SUBSCRIPTION } from "./subscription.js";
import { TariffPanel } from "./tariff-panel.js";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const RETRY_DELAY = 15 * SECOND;
/** New half hours come to all displays at the same moment; they had better not all ask in that moment. */
const HISTORY_SPREAD = 5 * SECOND;

export class Display {
  #root;
  #onSessionEnded;
  #timers = new TimerQueue();
  #connection;
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
  #connectionState = "connecting";
  #wallClock = new WallClock();

  /** `onSessionEnded` is called when the gateway does not accept the session any longer. */
  constructor(root, { onSessionEnded }) {
    const part = (name) => root.querySelector(`.${name}`);
    this.#root = root;
    this.#onSessionEnded = onSessionEnded;
    this.#status = new StatusBar(root.querySelector("header"));
    this.#power = new PowerPanel(part("power"));
    this.#today = new PeriodPanel(part("today"));
    this.#month = new PeriodPanel(part("month"));
    this.#tariff = new TariffPanel(part("tariff"));
    this.#history = new HistoryPanel(part("history"), () => this.#readHistory());
    this.#picker = new HomePicker(part("home"), (home) => this.#openHome(home));
    this.#connection = new Connection(this.#timers, () => this.#session.token, {
      onFrame: ({ display }, first) => this.#receive(display, first),
      onState: (state) => this.#setConnectionState(state),
      onTokenNeeded: () => this.#renewToken(),
      onRejected: (code) => this.#handleRejection(code),
    });
    document.addEventListener("visibilitychange", () => this.#tick());
  }

  start(session) {
    this.#session = session;
    this.#clear();
    this.#scheduleRenewal();
    this.#tick();
    this.#loadHomes();
  }

  stop() {
    this.#connection.close();
    this.#timers.clear();
    this.#session = this.#home = null;
    this.#clear();
  }

  async #loadHomes() {
    const homes = await this.#request("load", () => listHomes(this.#session.token), () => this.#loadHomes());
    if (!homes) return;
    const home = this.#picker.setHomes(homes.filter((home) => Object.keys(resourceIdsByEnergy(home)).length > 0));
    this.#root.querySelector(".no-homes").hidden = Boolean(home);
    if (home) this.#openHome(home);
  }

  #openHome(home) {
    this.#home = home;
    this.#wallClock = new WallClock(home.timeZone ?? undefined);
    this.#clear();
    const energies = resourceIdsByEnergy(home);
    this.#today.setEnergies(energies);
    this.#month.setEnergies(energies);
    this.#history.setHome(energies, this.#wallClock);
    this.#connection.open(SUBSCRIPTION, { veId: home.veId });
    this.#readHistory();
  }

  #clear() {
    this.#frame = null;
    this.#connectionState = "connecting";
    for (const panel of [this.#power, this.#today, this.#month, this.#tariff, this.#history]) panel.clear();
    this.#status.showAlerts(0);
  }

  /** Take a frame. The first one after a connection was made is the answer to a question just asked. */
  #receive(frame, first) {
    const at = Date.parse(frame.at);
    if (first) setTime(at);
    else advanceTo(at);
    const previous = this.#frame;
    this.#frame = frame;
    this.#render();
    if (previous && (first || historyChanged(previous, frame))) this.#timers.schedule(Math.random() * HISTORY_SPREAD, "history", () => this.#readHistory());
  }

  #setConnectionState(state) {
    this.#connectionState = state;
    this.#render();
  }

  #render() {
    const frame = this.#frame;
    const connected = this.#connectionState === "live";
    this.#status.showState(this.#connectionState, frame && freshnessAt(frame, now(), connected));
    if (!frame) return;
    this.#power.show(frame, this.#wallClock, connected);
    this.#today.show(frame.today, this.#wallClock);
    this.#month.show(frame.month, this.#wallClock);
    this.#tariff.show(frame.tariff, this.#wallClock);
    this.#status.showAlerts(frame.unreadAlerts);
  }

  /** Values grow old when nothing happens. */
  #tick() {
    if (!this.#session) return;
    if (detectJump()) this.#connection.reconnect();
    this.#status.showTime(this.#wallClock);
    this.#render();
    this.#timers.schedule(SECOND - (now() % SECOND), "second", () => this.#tick());
  }

  async #readHistory() {
    const { view } = this.#history;
    const { period, lookback } = VIEWS[view];
    const zone = this.#home.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
    const span = { start: now() - lookback, end: now(), period, zone };
    const read = () => readHistory(this.#session.token, resourceIdsByEnergy(this.#home), span);
    const series = await this.#request("history", read, () => this.#readHistory());
    if (series) this.#history.show(view, series);
    else this.#history.fail();
  }

  /** The answer; null when there is none, and then either the session is over or `retry` is called in a while. */
  async #request(name, send, retry) {
    const [session, home] = [this.#session, this.#home];
    const outdated = () => session !== this.#session || home !== this.#home;
    this.#timers.cancel(name);
    try {
      const response = await send();
      return outdated() ? null : response;
    } catch (error) {
      if (outdated()) return null;
      if (error.unauthenticated) this.#onSessionEnded();
      else {
        console.warn(error);
        this.#timers.schedule(RETRY_DELAY * (1 + Math.random()), name, retry);
      }
      return null;
    }
  }

  /** Get a further token ahead of time, and show it over the connection that stands. */
  #scheduleRenewal() {
    this.#timers.schedule(this.#session.millisecondsUntilRenewal, "token", () => this.#renewToken());
  }

  async #renewToken() {
    const session = this.#session;
    const renewed = await this.#request("token", () => session.renew().then(() => true), () => this.#renewToken());
    if (!renewed) return;
    this.#connection.sendToken(session.token);
    this.#scheduleRenewal();
  }

  /** The home is no longer there, or the page is older than the gateway: both are mended by beginning anew. */
  #handleRejection(code) {
    const [delay, then] =
      code === "NOT_FOUND" ? [RETRY_DELAY, () => this.#loadHomes()] : [MINUTE, () => location.reload()];
    this.#timers.schedule(delay * (1 + Math.random() * 4), "connection", then);
  }
}

/** Whether more of the history is known than before. */
function historyChanged(before, after) {
  return before.today.completeTo !== after.today.completeTo || before.today.end !== after.today.end;
}
