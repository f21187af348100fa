/** The texts of the log-in form in English. */

/** @import { Text } from "../catalogue.js" */

export default /** @satisfies {Record<string, Text>} */ ({
  "login.welcome": "Log in to see the energy use of your home.",
  "login.username": "Username",
  "login.password": "Password",
  "login.code": "Code",
  "login.submit": "Log in",
  "login.forgot": "Forgot your password?",
  "login.register": "Register",
  "login.verify": "Confirm a registration",
  "login.otherApplication": "Log in to another application",
  "login.applicationId": "Application ID",
  "login.continue": "Continue",
  "login.usernameMissing": "Enter your username.",
  "login.passwordMissing": "Enter your password.",
  "login.codeMissing": "Enter the code of your app, or a recovery code.",
  "login.codeWrong": "The code is wrong, has expired, or was used before. Enter the present one.",
  "login.wrong": "The username or the password is wrong.",
  "login.unreachable": "The gateway cannot be reached. Check the connection and try again.",
  "login.tooMany": "Too many attempts to log in. Try again in {wait}.",
  "login.unavailable": "The gateway cannot log you in at the moment. Try again in {wait}.",
  "login.failed": "The login failed: {message}.",
  "login.seconds": { one: "{count} second", other: "{count} seconds" },
  "login.minutes": { one: "{count} minute", other: "{count} minutes" },
});
