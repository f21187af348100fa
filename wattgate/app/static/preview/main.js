/** Shows the log-in form or the studio, whichever is due. */

import { logOut } from "../display/gateway.js";
import { LoginForm } from "../display/login.js";
import { Session } from "../display/session.js";
import { Studio } from "./studio.js";

/** A log-in of its own: whoever writes templates may be another than who watches the home display. */
const KEY = "wattgate.preview.session";

const loginView = document.querySelector(".login-view");
const studioView = document.querySelector(".studio-view");

const form = new LoginForm(document.querySelector(".login-form"), (login) => enter(Session.begin(login, KEY)));
const studio = new Studio(studioView, { refused: leave });
let session = Session.resume(KEY);

document.querySelector(".logout").addEventListener("click", () => {
  // Whether or not the gateway can be told, the browser forgets the token.
  logOut(session.token).catch(() => {});
  leave();
});

if (session) enter(session);
else leave();

function enter(begun) {
  session = begun;
  loginView.hidden = true;
  studioView.hidden = false;
  studio.start(session);
}

function leave(message) {
  studio.stop();
  session?.end();
  session = null;
  studioView.hidden = true;
  loginView.hidden = false;
  form.show(message);
}
