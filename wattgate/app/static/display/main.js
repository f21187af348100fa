/** Shows the log-in form or the display, whichever is due. */

import { Display } from "./display.js";
import { logOut } from "./gateway.js";
import { LoginForm } from "./login.js";
import { Session } from "./session.js";

const loginView = document.querySelector(".login-view");
const displayView = document.querySelector(".display-view");

const form = new LoginForm(document.querySelector(".login-form"), (login) => enter(Session.begin(login)));
const display = new Display(displayView, { denied: () => leave("Your log-in has ended. Please log in again.") });
let session = Session.resume();

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
  displayView.hidden = false;
  display.start(session);
}

function leave(message) {
  display.stop();
  session?.end();
  session = null;
  displayView.hidden = true;
  loginView.hidden = false;
  form.show(message);
}
