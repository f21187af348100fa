/** The page that sets a new password: it requests a code, and takes the code from the mail. */

import { find } from "../shared/dom.js";
import { AccountForm, showDone, takeFragment } from "./account-form.js";
import { requestPasswordReset, resetPassword } from "./requests.js";

const request = new AccountForm("request", requestPasswordReset, ({ username }) => {
  find(document, ".sent").hidden = false;
  showReset({ username, token: null });
});
const reset = new AccountForm("reset", resetPassword, showDone);

/** @param {{ username: string | null, token: string | null }} values */
function showReset(values) {
  request.show(false);
  reset.show(true);
  reset.fill(values);
}

const values = takeFragment();
if (values.username && values.token) showReset(values);
else request.fill(values);
