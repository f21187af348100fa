/** The page that confirms a registration. */

import { find } from "../shared/dom.js";
import { AccountForm, showDone, takeFragment } from "./account-form.js";
import { requestVerification, verify } from "./requests.js";

const form = new AccountForm("verify", verify, showDone);
form.fill(takeFragment());

find(document, "[data-testid=resend]").addEventListener("click", async () => {
  if (await form.submit(requestVerification, ["token"])) find(document, ".sent").hidden = false;
});
