/** The home display, behind its log-in. */

import { Display } from "./display.js";
import { Gate } from "../shared/gate.js";

const view = document.querySelector(".display-view");
const gate = new Gate(view);
gate.open(new Display(view, { denied: () => gate.leave("Your log-in has ended. Please log in again.") }));
