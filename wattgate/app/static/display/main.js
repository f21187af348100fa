/** Entry point of the home display: shows it after the pairing or the login. */

import { AuthenticatedView } from "../shared/authenticated-view.js";
import { find } from "../shared/dom.js";
import { Display } from "./display.js";
import { startNotation } from "./notation.js";
import { PairingEntry } from "./pairing-entry.js";
import { text } from "./texts.js";

startNotation(new URLSearchParams(location.search).get("lang"));
const root = find(document, ".display-view");
const view = new AuthenticatedView(root);
view.start(new Display(root, () => view.end(text("page.sessionEnded"))), new PairingEntry(view));
