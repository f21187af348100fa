/** Entry point of the home display: shows it after the login. */

import { AuthenticatedView } from "../shared/authenticated-view.js";
import { find } from "../shared/dom.js";
import { Display } from "./display.js";

const root = find(document, ".display-view");
const view = new AuthenticatedView(root);
view.start(new Display(root, () => view.end("Your session has ended. Please log in again.")));
