/** The studio, behind its log-in. */

import { AuthenticatedView } from "../shared/authenticated-view.js";
import { TemplateEditor } from "./template-editor.js";

/** A log-in of its own: whoever writes templates may be another than who watches the home display. */
const KEY = "wattgate.preview.session";

const view = document.querySelector(".editor-view");
const authenticatedView = new AuthenticatedView(view, KEY);
authenticatedView.start(new TemplateEditor(view, { onRefused: (message) => authenticatedView.end(message) }));
