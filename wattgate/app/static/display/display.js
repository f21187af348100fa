/** The home display of one user: keeps the state and the history of one home up to date. */

import { clock, now } from "../shared/clock.js";
import { Connection } from "../shared/connection.js";
import { find, findAs } from "../shared/dom.js";
import { listHomes, listPairedHome, readHistory, toGatewayError } from "../shared/gateway.js";
import { pageAddress } from "../shared/page-address.js";
import { TimerQueue } from "../shared/timer-queue.js";
import { readRecordedDays } from "./course-requests.js";
import { hasLivePower } from "./day-course.js";
import { WallClock } from "./format.js";
import { currentCarbon } from "./frame.js";
import { HistoryPanel } from "./history-panel.js";
import { resourceIdsByEnergy, zoneOf } from "./home.js";
import { HomePicker } from "./home-picker.js";
import { Household } from "./household.js";
import { onNotationChange, useNotation } from "./notation.js";
import { searchNewVersion } from "./offline.js";
import { PanelDialog } from "./panel-dialog.js";
import { PeriodPanel } from "./period-panel.js";
import { PowerPanel } from "./power-panel.js";
import { PricePanel } from "./price-panel.js";
import { readPrices } from "./price-requests.js";
import { StatusBar } from "./status-bar.js";
import { FRAME_VERSION, SUBSCRIPTION } from "./subscription.js";
import { TariffPanel } from "./tariff-panel.js";
import { WakeLock } from "./wake-lock.js";
import { WithheldNotice } from "./withheld-notice.js";

/** @import { Wishes } from "./address.js" */
/** @import { AddressNotice } from "./address-notice.js" */
/** @import { Home } from "../shared/gateway.js" */
/** @import { Session } from "../shared/session.js" */
/** @import { ConnectionState } from "../shared/connection.js" */
/** @import { Requester } from "./household.js" */
/** @import { Frame } from "./subscription.js" */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const RETRY_DELAY = 15 * SECOND;
/** A wall display shows the newest history again when nobody has moved it for this time. */
const RETURN_DELAY = 5 * MINUTE;
/** All displays learn of a new half hour at the same moment. They spread their requests over this time. */
const HISTORY_SPREAD = 5 * SECOND;

export class Display {
  /** @type {HTMLElement} */
  #root;
  /** @type {() => void} */
  #onSessionEnded;
  #timers = new TimerQueue();
  /** @type {Connection} */
  #connection;
  /** @type {StatusBar} */
  #status;
  /** @type {PowerPanel} */
  #power;
  /** @type {PeriodPanel} */
  #today;
  /** @type {PeriodPanel} */
  #month;
  /** @type {TariffPanel} */
  #tariff;
  /** @type {Household} */
  #household;
  /** @type {PricePanel} */
  #prices;
  /** @type {PanelDialog} */
  #pricesDialog;
  /** @type {HistoryPanel} */
  #history;
  /** @type {WithheldNotice} */
  #withheld;
  /** @type {HomePicker} */
  #picker;
  /** @type {Session | null} */
  #session = null;
  /** @type {Home | null} */
  #home = null;
  /** @type {Frame | null} */
  #frame = null;
  /** @type {ConnectionState} */
  #connectionState = "connecting";
  #wallClock = new WallClock();
  #wakeLock = new WakeLock();

  /**
   * @param {HTMLElement} root
   * @param {() => void} onSessionEnded  Called when the gateway rejects the session.
   * @param {{ wishes: Wishes, notice: AddressNotice }} address  What the address of the page asks for.
   */
  constructor(root, onSessionEnded, { wishes, notice }) {
    /** @param {string} name */
    const part = (name) => find(root, `.${name}`);
    this.#root = root;
    this.#onSessionEnded = onSessionEnded;
    this.#status = new StatusBar(find(root, "header"));
    this.#power = new PowerPanel(part("power"));
    this.#today = new PeriodPanel(part("today"));
    this.#month = new PeriodPanel(part("month"));
    this.#tariff = new TariffPanel(part("tariff"));
    this.#pricesDialog = new PanelDialog(findAs(root, ".prices-dialog", HTMLDialogElement), part("prices"));
    part("open-prices").addEventListener("click", () => this.#pricesDialog.open());
    this.#prices = new PricePanel(part("prices"), () => this.#readPrices(), (known) => this.#offerPrices(known));
    const bell = findAs(root, ".alerts", HTMLButtonElement);
    this.#household = new Household(bell, findAs(root, ".household-dialog", HTMLDialogElement), this.#requester());
    this.#withheld = new WithheldNotice(root);
    this.#history = new HistoryPanel(part("history"), () => this.#readHistory());
    if (wishes.span) this.#history.selectView(wishes.span);
    this.#picker = new HomePicker(part("home"), (home) => this.#openHome(home), {
      wanted: wishes.home,
      onUnknown: (wanted) => notice.showBadHome(wanted),
    });
    this.#connection = new Connection(this.#timers, () => ({ token: this.#token }), {
      onPayload: ({ data, errors }, first) => {
        if (!errors) this.#receive(data.display, first);
      },
      onState: (state) => this.#setConnectionState(state),
      onTokenNeeded: () => this.#renewToken(),
      onRejected: (code) => this.#handleRejection(code),
    });
    document.addEventListener("visibilitychange", () => this.#tick());
    window.addEventListener("online", () => this.#timers.runNow("load"));
    window.addEventListener("offline", () => this.#showUnreachable());
    onNotationChange(() => this.#status.showTime(this.#wallClock));
  }

  /**
   * Load the homes of the session's account and show one of them.
   * @param {Session} session
   */
  start(session) {
    this.#session = session;
    this.#wakeLock.setWanted(true);
    this.#clear();
    this.#scheduleRenewal(session);
    this.#tick();
    this.#loadHomes();
  }

  /** Disconnect and remove everything that was shown. */
  stop() {
    this.#connection.close();
    this.#household.clear();
    this.#timers.clear();
    this.#session = this.#home = null;
    this.#wakeLock.setWanted(false);
    this.#clear();
  }

  get #token() {
    return this.#session?.token ?? "";
  }

  async #loadHomes() {
    const list = this.#session?.isPaired ? listPairedHome : listHomes;
    const homes = await this.#request("load", () => list(this.#token), () => this.#loadHomes());
    if (!homes) return;
    const home = this.#picker.setHomes(homes.filter((one) => Object.keys(resourceIdsByEnergy(one)).length > 0));
    find(this.#root, ".no-homes").hidden = Boolean(home);
    find(this.#root, ".home").hidden = !home;
    find(this.#root, ".connection").hidden = !home;
    if (home) this.#openHome(home);
    else this.#timers.schedule(MINUTE, "homes", () => this.#loadHomes());
  }

  /** @param {Home} home */
  #openHome(home) {
    this.#home = home;
    this.#wallClock = new WallClock(home.timeZone ?? undefined);
    this.#clear();
    const energies = resourceIdsByEnergy(home);
    this.#today.setEnergies(energies);
    this.#month.setEnergies(energies);
    this.#history.setHome(energies, this.#wallClock, zoneOf(home));
    const addData = findAs(this.#root, ".add-data", HTMLAnchorElement);
    if (this.#session?.isPaired) addData.removeAttribute("href"); // its credential only reads
    else addData.href = pageAddress("/add-data", home.homeId);
    const { electricity: resourceId } = energies;
    this.#prices.setHome(resourceId ? { resourceId, timeZone: zoneOf(home), wallClock: this.#wallClock } : null);
    this.#household.setHome(home.homeId, this.#wallClock, this.#session?.isPaired === false);
    this.#connection.open(() => ({ query: SUBSCRIPTION, variables: { homeId: home.homeId } }));
    this.#readHistory();
  }

  #clear() {
    this.#frame = null;
    this.#connectionState = "connecting";
    const panels = [this.#power, this.#today, this.#month, this.#tariff, this.#prices, this.#history];
    for (const panel of panels) panel.clear();
    this.#withheld.show([]);
  }

  /**
   * Show a frame. The first one of a connection is the response to a request that was just sent, so it sets the clock.
   * @param {Frame} frame
   * @param {boolean} first
   */
  #receive(frame, first) {
    if (frame.frameVersion > FRAME_VERSION) {
      this.#refuseNewerFrames();
      return;
    }
    const at = Date.parse(frame.at);
    if (first) this.#setClock(at);
    else clock.advanceTo(at);
    const previous = this.#frame;
    this.#frame = frame;
    useNotation(frame);
    this.#render();
    if (!previous || historyChanged(previous, frame)) this.#readCourse();
    if (previous && this.#history.wanted.steps === 0 && (first || historyChanged(previous, frame))) {
      this.#timers.schedule(Math.random() * HISTORY_SPREAD, "history", () => this.#readHistory());
    }
  }

  /** @param {number} instant */
  #setClock(instant) {
    clock.setTime(instant);
    // A renewal that the device's own clock has timed may be hours or years away.
    if (this.#session) this.#scheduleRenewal(this.#session);
  }

  /** @param {ConnectionState} state */
  #setConnectionState(state) {
    this.#connectionState = state;
    if (state === "live") searchNewVersion();
    this.#render();
  }

  /** Say that the gateway cannot be reached. Once there is a home, its subscription says so. */
  #showUnreachable() {
    if (this.#session && !this.#home && this.#connectionState !== "outdated") this.#setConnectionState(navigator.onLine ? "reconnecting" : "offline");
  }

  #render() {
    const frame = this.#frame;
    const link = { connected: this.#connectionState === "live", silence: this.#connection.silence };
    this.#status.showState(this.#connectionState, frame, link, this.#wallClock);
    if (!frame) return;
    this.#power.show(frame, this.#wallClock, link);
    this.#today.show(frame.today, frame.at, this.#wallClock);
    this.#month.show(frame.month, frame.at, this.#wallClock);
    this.#tariff.show({ tariff: frame.tariff, carbon: currentCarbon(frame, now()) }, this.#wallClock);
    this.#prices.show(frame);
    this.#household.showUnread(frame.unreadAlerts);
    this.#withheld.show(frame.withheld);
  }

  /** Update the page every second, because values age also when nothing arrives. */
  #tick() {
    if (!this.#session) return;
    if (clock.detectJump()) this.#connection.reconnect();
    this.#status.showTime(this.#wallClock);
    this.#render();
    this.#timers.schedule(SECOND - (now() % SECOND), "second", () => this.#tick());
  }

  async #readHistory() {
    const home = this.#home;
    if (!home) return;
    const { range, ...selection } = this.#history.wanted;
    if (selection.steps === 0) this.#timers.cancel("newest");
    else this.#timers.schedule(RETURN_DELAY, "newest", () => this.#history.returnToNewest());
    const read = () => readHistory(this.#token, resourceIdsByEnergy(home), range);
    const retry = () => this.#readHistory();
    const series = await this.#request("history", read, retry, () => this.#history.fail());
    if (!series) return;
    if (Object.keys(series).length > 0) this.#history.show(selection, series);
    else this.#history.clear();
  }

  async #readCourse() {
    const home = this.#home;
    const resourceId = home && this.#frame && !hasLivePower(this.#frame) && resourceIdsByEnergy(home).electricity;
    if (!resourceId) return;
    const read = () => readRecordedDays(this.#token, resourceId, zoneOf(home), now());
    this.#power.setRecordedDays(await this.#request("course", read, () => this.#readCourse()));
    this.#render();
  }

  async #readPrices() {
    const { wanted } = this.#prices;
    if (!wanted) return;
    const read = () => readPrices(this.#token, wanted.resourceId, wanted.range);
    const prices = await this.#request("prices", read, () => this.#readPrices());
    if (prices) this.#prices.setPrices(prices);
  }

  /** @param {boolean} known */
  #offerPrices(known) {
    find(this.#root, ".open-prices").hidden = !known;
    if (!known) this.#pricesDialog.close();
  }

  /**
   * Send a request and return its result. Return null if it failed, or if the session or the home has changed in the
   * meantime. After a failure, either the session ends or the request is repeated later.
   * @template T
   * @param {string} name  The name of the timer of the retry.
   * @param {() => Promise<T>} send
   * @param {(() => void) | null} retry  Null if the request is not repeated.
   * @param {() => void} [onFailure]  Called if the request failed and the session and the home are still the same.
   * @returns {Promise<T | null>}
   */
  async #request(name, send, retry, onFailure) {
    const [session, home] = [this.#session, this.#home];
    const outdated = () => session !== this.#session || home !== this.#home;
    this.#timers.cancel(name);
    try {
      const result = await send();
      return outdated() ? null : result;
    } catch (error) {
      if (outdated()) return null;
      const { unauthenticated, unreachable } = toGatewayError(error);
      if (unauthenticated) this.#onSessionEnded();
      else {
        if (unreachable) this.#showUnreachable();
        console.warn(error);
        if (retry) this.#timers.schedule(RETRY_DELAY * (1 + Math.random()), name, retry);
        onFailure?.();
      }
      return null;
    }
  }

  /** @returns {Requester} */
  #requester() {
    const getToken = () => this.#token;
    return {
      get token() {
        return getToken();
      },
      read: (name, send, { retry, onFailure }) => this.#request(name, send, retry, onFailure),
      act: (send) => this.#request("action", send, null),
    };
  }

  /** @param {Session} session */
  #scheduleRenewal(session) {
    this.#timers.schedule(session.millisecondsUntilRenewal, "token", () => this.#renewToken());
  }

  /** Get a new token and send it over the current connection. */
  async #renewToken() {
    const session = this.#session;
    if (!session) return;
    const renewed = await this.#request("token", () => session.renew().then(() => true), () => this.#renewToken());
    if (!renewed) return;
    this.#connection.sendToken(session.token);
    this.#scheduleRenewal(session);
  }

  /**
   * Start again after the gateway rejected the subscription: the home may have been removed, its data may be withheld,
   * or this page may be older than the gateway.
   * @param {string | undefined} code
   */
  #handleRejection(code) {
    const spread = 1 + Math.random() * 4;
    if (code === "CONSENT_REVOKED") {
      this.#clear();
      this.#setConnectionState("withheld");
      this.#withheld.showAll();
      this.#timers.schedule(RETRY_DELAY * spread, "connection", () => this.#loadHomes());
      return;
    }
    if (code === "NOT_FOUND") this.#timers.schedule(RETRY_DELAY * spread, "connection", () => this.#loadHomes());
    else this.#reloadLater();
  }

  /** Remove everything that was shown of the home, and wait for a page that understands the frames. */
  #refuseNewerFrames() {
    this.#connection.close();
    // Without a home, responses that are still to come are ignored.
    this.#home = null;
    this.#household.clear();
    this.#clear();
    this.#setConnectionState("outdated");
    this.#reloadLater();
  }

  #reloadLater() {
    this.#timers.schedule(MINUTE * (1 + Math.random() * 4), "connection", () => location.reload());
  }
}

/**
 * Return whether the later frame covers more of the history, or other meters.
 * @param {Frame} before
 * @param {Frame} after
 */
function historyChanged(before, after) {
  const [earlier, later] = [before, after].map(({ withheld }) => withheld.map((one) => one.resourceId).join());
  return earlier !== later || before.today.completeTo !== after.today.completeTo || before.today.end !== after.today.end;
}
