/** The in-home display of one person: keeps one of their homes up to date, live and by its history. */

import { now } from "./clock.js";
import { WallClock } from "./format.js";
import { listHomes, readHome } from "./gateway.js";
import { HistoryPanel } from "./history-panel.js";
import { HomePicker } from "./home-picker.js";
import { LiveReadings } from "./live.js";
import { overview, powerOf } from "./overview.js";
import { PowerPanel } from "./power-panel.js";
import { TodayPanel } from "./today-panel.js";

const SECOND = 1000;
const REFRESH_EVERY = 300 * SECOND;
const RETRY_AFTER = 15 * SECOND;
const CONNECTION_TEXTS = {
  connecting: "Connecting",
  live: "Live",
  reconnecting: "Reconnecting",
  offline: "Offline",
};

export class Display {
  #root;
  #power;
  #today;
  #history;
  #picker;
  #denied;
  #session = null;
  #live = null;
  #home = null;
  #overview = null;
  #wallClock = new WallClock();
  #refreshTimer = 0;
  #secondTimer = 0;

  /** `denied` is called when the gateway does not accept the session any longer. */
  constructor(root, { denied }) {
    this.#root = root;
    this.#denied = denied;
    this.#power = new PowerPanel(root.querySelector(".power"));
    this.#today = new TodayPanel(root.querySelector(".today"));
    this.#history = new HistoryPanel(root.querySelector(".history"));
    this.#picker = new HomePicker(root.querySelector(".home"), (home) => this.#open(home));
  }

  start(session) {
    this.#session = session;
    this.#clear();
    this.#showConnection("connecting");
    this.#secondTimer = setInterval(() => this.#everySecond(), SECOND);
    this.#everySecond();
    this.#load();
  }

  stop() {
    clearInterval(this.#secondTimer);
    clearTimeout(this.#refreshTimer);
    this.#live?.stop();
    this.#live = this.#session = this.#home = null;
    this.#clear();
  }

  async #load() {
    const session = this.#session;
    const homes = await this.#ask(() => listHomes(session.token), () => this.#load());
    if (!homes || session !== this.#session) return;
    const home = this.#picker.offer(homes.filter(({ resources }) => resources.length > 0));
    this.#root.querySelector(".no-homes").hidden = Boolean(home);
    if (home) this.#open(home);
  }

  #open(home) {
    this.#home = home;
    this.#wallClock = new WallClock(home.timeZone ?? undefined);
    this.#clear();
    this.#follow(home);
    this.#refresh();
    this.#everySecond();
  }

  #follow({ resources }) {
    this.#live?.stop();
    const ids = resources.map((resource) => resource.resourceId);
    const powerId = resources.find((resource) => resource.classifier === "electricity.consumption")?.resourceId;
    this.#live = new LiveReadings(ids, () => this.#session.token, {
      state: (state) => this.#showConnection(state),
      ready: () => this.#refresh(),
      reading: (reading) => this.#receive(reading, powerId),
      denied: () => this.#denied(),
    });
    this.#live.start();
  }

  #receive(reading, powerId) {
    const power = powerOf(reading);
    if (power && reading.resourceId === powerId) this.#power.receive(power);
    // Half-hour readings come to all displays at the same moment; they had better not all ask in that moment.
    if (!power) this.#refreshIn((1 + Math.random() * 4) * SECOND);
  }

  async #refresh() {
    const [session, home] = [this.#session, this.#home];
    const zone = home.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
    const read = async () => {
      await session.renewInTime();
      return readHome(session.token, { veId: home.veId, zone, at: now() });
    };
    const resources = await this.#ask(read, () => this.#refresh());
    if (!resources || session !== this.#session || home !== this.#home) return;
    this.#show(overview(resources));
    this.#refreshIn(REFRESH_EVERY);
  }

  #refreshIn(delay) {
    clearTimeout(this.#refreshTimer);
    this.#refreshTimer = setTimeout(() => this.#refresh(), delay);
  }

  /** The answer; null when there is none, and then either the session is over or `again` is called in a while. */
  async #ask(question, again) {
    const session = this.#session;
    try {
      return await question();
    } catch (error) {
      if (session !== this.#session) return null;
      if (error.denied) this.#denied();
      else {
        console.warn(error);
        clearTimeout(this.#refreshTimer);
        this.#refreshTimer = setTimeout(again, RETRY_AFTER);
      }
      return null;
    }
  }

  #show(read) {
    this.#overview = read;
    this.#power.learn(read);
    if (read.power) this.#power.receive(read.power);
    this.#today.show(read);
    this.#history.show(read, this.#wallClock);
  }

  #clear() {
    this.#overview = null;
    this.#power.begin(this.#wallClock);
    this.#today.clear();
    this.#history.clear();
  }

  #showConnection(state) {
    const pill = this.#root.querySelector(".connection");
    pill.dataset.state = state;
    pill.querySelector(".connection-text").textContent = CONNECTION_TEXTS[state];
  }

  #everySecond() {
    this.#root.querySelector(".time").textContent = this.#wallClock.minutes(now());
    this.#power.update();
    // Just after midnight yesterday's amounts must go, even while the gateway is away.
    if (this.#overview) this.#today.show(this.#overview);
  }
}
