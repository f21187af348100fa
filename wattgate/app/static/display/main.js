/** Entry point of the home display: shows it after the pairing or the login. */

import { AuthenticatedView } from "../shared/authenticated-view.js";
import { find } from "../shared/dom.js";
import { Display } from "./display.js";
import { PairingEntry } from "./pairing-entry.js";
import { chooseLocale, fillTexts, setLocale } from "./texts.js";

setLocale(chooseLocale({ asked: new URLSearchParams(location.search).get("lang"), browser: navigator.languages }));
fillTexts(document);
const root = find(document, ".display-view");
const view = new AuthenticatedView(root);
view.start(new Display(root, () => view.end("Your session has ended. Please log in again.")), new PairingEntry(view));
