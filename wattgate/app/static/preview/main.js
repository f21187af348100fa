/** Entry point of the template editor: shows it after the login. */

import { AuthenticatedView } from "../shared/authenticated-view.js";
import { find } from "../shared/dom.js";
import { TemplateEditor } from "./template-editor.js";

/** A session of its own: template authors and users of the home display may have different accounts. */
const SESSION_KEY = "wattgate.preview.session";

const root = find(document, ".editor-view");
const view = new AuthenticatedView(root, SESSION_KEY);
view.start(new TemplateEditor(root, (message) => view.end(message)));
