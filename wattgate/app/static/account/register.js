/** The page that registers a user. The page that takes the code follows. */

import { find } from "../shared/dom.js";
import { AccountForm } from "./account-form.js";
import { register } from "./requests.js";

const form = new AccountForm("register", register, ({ email }) => {
  const query = find(document, ".account-steps").dataset.query ?? "";
  location.assign(`/verify${query}#${new URLSearchParams({ username: email })}`);
});
form.fill({});
