/** Entry point of the page that adds data: shows it after the login. */

import { startNotation } from "../display/notation.js";
import { addTexts, text } from "../display/texts.js";
import { AuthenticatedView } from "../shared/authenticated-view.js";
import { find } from "../shared/dom.js";
import { AddDataPage } from "./add-data-page.js";
import en from "./texts/en.js";
import fr from "./texts/fr.js";

addTexts({ en, fr });
find(document, ".welcome").dataset.text = "data.welcome";
startNotation(new URLSearchParams(location.search).get("lang"));

const root = find(document, ".data-view");
const view = new AuthenticatedView(root);
view.start(new AddDataPage(root, () => view.end(text("page.sessionEnded"))));
