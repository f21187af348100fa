/** Sets the page up as an appliance: by its address, with full screen, and with a shell without a network. */

import { find, findAs } from "../shared/dom.js";
import { readAddress } from "./address.js";
import { AddressNotice } from "./address-notice.js";
import { setUpFullScreen } from "./full-screen.js";
import { startNotation } from "./notation.js";
import { installWorker } from "./offline.js";
import { applyTheme } from "./theme.js";

/** @import { Wishes } from "./address.js" */

/**
 * Set the page up as its address says. Return the wishes, some of which are for the display itself.
 * @returns {{ wishes: Wishes, notice: AddressNotice }}
 */
export function startKiosk() {
  const wishes = readAddress(location.search);
  startNotation(wishes.lang);
  if (wishes.theme) applyTheme(wishes.theme);
  const notice = new AddressNotice(find(document, ".address-notice"));
  notice.showBadValues(wishes.badValues);
  setUpFullScreen(find(document, ".full-screen"));
  // An installed page starts with the same parameters.
  findAs(document, 'link[rel="manifest"]', HTMLLinkElement).href += location.search;
  installWorker();
  return { wishes, notice };
}
