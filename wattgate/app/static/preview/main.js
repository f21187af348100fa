/** The studio, behind its log-in. */

import { Gate } from "../shared/gate.js";
import { Studio } from "./studio.js";

/** A log-in of its own: whoever writes templates may be another than who watches the home display. */
const KEY = "wattgate.preview.session";

const view = document.querySelector(".studio-view");
const gate = new Gate(view, KEY);
gate.open(new Studio(view, { refused: (message) => gate.leave(message) }));
