/** The form that lets the active document act as an application, or as one of its users. */

import { element } from "../../shared/dom.js";

/** @import { Workspace } from "../workspace.js" */

const CREDENTIALS = /^\s*(?:token|authorization|applicationid|userid)\s*:/i;

/**
 * Return lines of headers with the credentials of an application in place of other ones.
 * @param {string} headers
 * @param {{ applicationId: string, secret: string, userId: string }} credentials
 * @returns {string}
 */
function withApplication(headers, { applicationId, secret, userId }) {
  const others = headers.split("\n").filter((line) => line.trim() && !CREDENTIALS.test(line));
  const bytes = new TextEncoder().encode(`${applicationId}:${secret}`);
  const basic = btoa(String.fromCharCode(...bytes));
  return [...others, `authorization: Basic ${basic}`, ...(userId ? [`userId: ${userId}`] : [])].join("\n");
}

/**
 * @param {HTMLElement} root
 * @param {Workspace} workspace
 */
export function mountApplicationForm(root, workspace) {
  const [applicationId, secret, userId] = [
    input("Application ID", "text", true), input("Secret", "password", true), input("User that it acts for (optional)", "text", false),
  ];
  const form = element("form", { method: "post", "data-testid": "application-form" }, [applicationId, secret, userId].map(({ label }) => label),
    element("button", { type: "submit", "data-testid": "use-application" }, "Use these credentials"));
  applicationId.field.value = workspace.applicationId;
  const details = element("details", { class: "application-form", "data-testid": "application-details" }, element("summary", {}, "Act as an application"), form);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const values = { applicationId: applicationId.field.value.trim(), secret: secret.field.value, userId: userId.field.value.trim() };
    workspace.edit({ headers: withApplication(workspace.document.headers, values) });
    workspace.activateDocument(workspace.document.id);
    secret.field.value = "";
    details.open = false;
    root.closest("dialog")?.close();
    workspace.notify("This document now acts as the application. Its credentials are under Headers, and are not stored.");
  });
  root.append(details);
}

/**
 * @param {string} title
 * @param {string} type
 * @param {boolean} isRequired
 */
function input(title, type, isRequired) {
  const field = element("input", { type, required: isRequired, autocomplete: "off", spellcheck: "false" });
  return { field, label: element("label", {}, title, field) };
}
