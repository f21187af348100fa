/** The page that confirms a new e-mail address. */

import { AccountForm, showDone, takeFragment } from "./account-form.js";
import { confirmEmail } from "./requests.js";

new AccountForm("confirm", confirmEmail, showDone).fill(takeFragment());
