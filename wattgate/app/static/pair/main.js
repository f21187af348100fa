/** Entry point of the pairing page: shows it after the login, with the code of the address. */

import { startNotation } from "../display/notation.js";
import { text } from "../display/texts.js";
import { AuthenticatedView } from "../shared/authenticated-view.js";
import { find, prose } from "../shared/dom.js";
import { codeOfFragment } from "../shared/user-code.js";
import { PairPage } from "./pair-page.js";

find(document, ".welcome").dataset.text = "pair.welcome";
startNotation(new URLSearchParams(location.search).get("lang"));
find(document, ".how-to").replaceChildren(...prose(text("pair.howTo", { address: `${location.host}/display` })));

const root = find(document, ".pair-view");
const view = new AuthenticatedView(root);
const page = new PairPage(root, () => view.end(text("pair.sessionEnded")));
find(root, ".another").addEventListener("click", () => page.pairAnother());
window.addEventListener("hashchange", () => {
  const code = codeOfFragment(location.hash);
  // An address without a code does not end an open question.
  if (code) page.open(code);
});
page.open(codeOfFragment(location.hash));
view.start(page);
