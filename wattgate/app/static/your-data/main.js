/** Entry point of the page of the own data: shows it after the login. */

import { startNotation } from "../display/notation.js";
import { addTexts, text } from "../display/texts.js";
import { AuthenticatedView } from "../shared/authenticated-view.js";
import { find } from "../shared/dom.js";
import { YourDataPage } from "./your-data-page.js";
import en from "./texts/en.js";
import fr from "./texts/fr.js";

addTexts({ en, fr });
find(document, ".welcome").dataset.text = "own.welcome";
startNotation(new URLSearchParams(location.search).get("lang"));

const root = find(document, ".own-view");
const view = new AuthenticatedView(root);
view.start(new YourDataPage(root, () => view.end(text("page.sessionEnded"))));
