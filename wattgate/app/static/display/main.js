/** The home display, behind its log-in. */

import { Display } from "./display.js";
import { AuthenticatedView } from "../shared/authenticated-view.js";

const view = document.querySelector(".display-view");
const authenticatedView = new AuthenticatedView(view);
authenticatedView.start(new Display(view, { onSessionEnded: () => authenticatedView.end("Your log-in has ended. Please log in again.") }));
