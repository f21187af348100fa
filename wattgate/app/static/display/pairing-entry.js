/** The entry to the display by pairing: a phone approves the code that this screen shows. */

import { now } from "../shared/clock.js";
import { ConfirmDialog } from "../shared/confirm-dialog.js";
import { element, find, findAs } from "../shared/dom.js";
import { TimerQueue } from "../shared/timer-queue.js";
import { PAIRED_KEY, PairedSession } from "./paired-session.js";
import { Pairing } from "./pairing.js";
import { claimPairing, startPairing } from "./pairing-requests.js";
import { PairingView } from "./pairing-view.js";
import { text } from "./texts.js";

/** @import { AuthenticatedView } from "../shared/authenticated-view.js" */
/** @import { Session } from "../shared/session.js" */
/** @import { PairingState } from "./pairing.js" */

const SECOND = 1000;
/** Nobody may be at the screen that was refused: it gets a new code after this time. */
const DENIED_PAUSE = 30 * SECOND;
/** Phones show the form first: their owner has the password at hand, and no second device to approve the code. */
const PHONE = "(orientation: portrait) and (max-width: 28rem)";

export class PairingEntry {
  /** @type {AuthenticatedView} */
  #page;
  /** @type {PairingView} */
  #view;
  /** @type {Pairing} */
  #pairing;
  /** @type {ConfirmDialog} */
  #dialog;
  /** @type {string} */
  #key;
  #timers = new TimerQueue();
  /** Whether this screen has ended its own credential. */
  #unpaired = false;

  /** @param {AuthenticatedView} page */
  constructor(page) {
    this.#page = page;
    this.#key = page.scopedKey(PAIRED_KEY);
    this.#dialog = new ConfirmDialog(findAs(document, ".unpair-dialog", HTMLDialogElement));
    this.#view = new PairingView(find(document, ".pairing-view"), {
      onNewCode: () => this.#pairing.begin(),
      onLogIn: () => page.showForm(),
    });
    const name = new URLSearchParams(location.search).get("name") ?? "";
    this.#pairing = new Pairing(
      {
        start: () => startPairing(page.applicationId, name.slice(0, 100)),
        claim: (deviceCode) => claimPairing(page.applicationId, deviceCode),
        now,
        timers: this.#timers,
      },
      {
        onChange: (state) => this.#showState(state),
        onPaired: (paired) => page.enter(PairedSession.pair(paired, this.#key)),
      },
    );
    window.addEventListener("online", () => this.#pairing.retry());
    document.addEventListener("visibilitychange", () => this.#replaceExpired());
    if (page.applicationId) this.#addLink();
  }

  /** Return the session of this screen, if it is paired. */
  resume() {
    return PairedSession.restore(this.#key);
  }

  /**
   * Show the code, unless the form is better for this screen or for the session that has ended.
   * @param {Session | null} ended
   * @returns {boolean}
   */
  offer(ended) {
    const wasPaired = ended?.isPaired ?? false;
    if (!this.#page.applicationId || (ended && !wasPaired)) return false;
    if (!wasPaired && matchMedia(PHONE).matches) return false;
    this.#show(wasPaired && !this.#unpaired ? text("pairing.revoked") : "");
    this.#unpaired = false;
    return true;
  }

  /** @param {Session | null} session */
  hide(session) {
    this.#pairing.cancel();
    this.#timers.clear();
    this.#dialog.close();
    this.#view.setVisible(false);
    labelLogOut(session?.isPaired ? "pairing.unpair" : "page.logOut");
  }

  /**
   * Ask before a paired screen ends its credential: nobody can undo it without a phone.
   * @param {Session} session
   */
  async confirmLogOut(session) {
    if (!session.isPaired) return true;
    this.#unpaired = await this.#dialog.ask({
      title: text("pairing.unpairTitle"),
      details: [element("p", {}, text("pairing.unpairDetail"))],
      action: text("pairing.unpair"),
      cancel: text("pairing.keep"),
    });
    return this.#unpaired;
  }

  /** @param {string} reason */
  #show(reason) {
    find(document, ".login-view").hidden = true;
    this.#view.setVisible(true, reason);
    this.#pairing.begin();
    this.#tick();
  }

  /** @param {PairingState} state */
  #showState(state) {
    this.#view.show(state, now());
    this.#timers.cancel("again");
    if (state.phase === "denied") this.#timers.schedule(DENIED_PAUSE, "again", () => this.#pairing.begin());
    this.#replaceExpired();
  }

  /** Get a new code in place of one that has expired, once somebody can see it. */
  #replaceExpired() {
    if (this.#pairing.state?.phase === "expired" && !document.hidden) this.#pairing.begin();
  }

  #tick() {
    this.#view.tick(now());
    this.#timers.schedule(SECOND, "second", () => this.#tick());
  }

  #addLink() {
    const link = element("button", { type: "button", class: "secondary", "data-testid": "to-pairing" });
    link.dataset.text = "pairing.instead";
    link.textContent = text("pairing.instead");
    link.addEventListener("click", () => {
      this.#show("");
      this.#view.focus();
    });
    find(document, ".login-form").append(link);
  }
}

/**
 * Label the button that ends the session.
 * @param {"pairing.unpair" | "page.logOut"} key
 */
function labelLogOut(key) {
  const button = find(document, ".logout");
  button.dataset.textLabel = button.dataset.textTitle = key;
  button.title = text(key);
  button.setAttribute("aria-label", text(key));
}
