/** Entry point of the home display: shows it after the pairing or the login. */

import { AuthenticatedView } from "../shared/authenticated-view.js";
import { find } from "../shared/dom.js";
import { Display } from "./display.js";
import { startKiosk } from "./kiosk.js";
import { PairingEntry } from "./pairing-entry.js";
import { text } from "./texts.js";

const { wishes, notice } = startKiosk();
const root = find(document, ".display-view");
const view = new AuthenticatedView(root);
const display = new Display(root, () => view.end(text("page.sessionEnded")), { wishes, notice });
view.start(display, new PairingEntry(view));
