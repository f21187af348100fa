/** Requests of the template editor: templates and their versions, past alerts, previews and test mails. */

import { call } from "../shared/gateway.js";

/**
 * Content of a version of a template. A text of null means that it is generated from the HTML.
 * @typedef {{ subject: string, preheader: string, htmlTemplate: string, text: string | null }} TemplateContent
 */

/**
 * Properties of a template, which all its versions share.
 * @typedef {{ name: string, alertTypeId: string, channelType: string, cultureCode: string }} TemplateAttributes
 */

/** @typedef {TemplateContent & { version: number, createdAt: string, publishedAt: string | null }} TemplateVersion */

/**
 * @typedef {TemplateAttributes & {
 *   templateId: string,
 *   active: boolean,
 *   published: { version: number },
 *   versions: TemplateVersion[],
 * }} Template
 */

/** @typedef {{ alertTypeId: string, name: string, systemAlertTypeId: string }} AlertType */
/** @typedef {{ alertId: string, systemAlertTypeId: string, createdAt: string }} PastAlert */
/** @typedef {{ templates: Template[], alertTypes: AlertType[], alerts: PastAlert[] }} LoadedTemplates */

/**
 * Request to render: a template's content, and the sample data or the past alert whose data it gets.
 * @typedef {object} PreviewInput
 * @property {string | null} alertTypeId
 * @property {string} channelType
 * @property {string | null} cultureCode
 * @property {string} html
 * @property {string} subject
 * @property {string} preheader
 * @property {string | null} text
 * @property {object} [data]
 * @property {string} [alertId]
 */

/**
 * @typedef {object} Finding
 * @property {"ERROR" | "WARNING" | "INFO"} severity
 * @property {string} code
 * @property {"SUBJECT" | "PREHEADER" | "HTML" | "TEXT"} part
 * @property {number | null} line
 * @property {number | null} column
 * @property {string} message
 * @property {string | null} hint
 */

/**
 * `namesChecked` says whether the names of the variables were compared with those of the alert type.
 * @typedef {{
 *   ok: boolean,
 *   namesChecked: boolean,
 *   htmlBytes: number,
 *   textBytes: number,
 *   findings: Finding[],
 * }} TemplateReport
 */

/**
 * A rendered template. Parts that cannot be rendered are null.
 * @typedef {object} RenderedTemplate
 * @property {string | null} subject
 * @property {string | null} preheader
 * @property {string | null} html
 * @property {string | null} text
 * @property {boolean} textMade
 * @property {object} data
 * @property {string} dataFrom
 * @property {string[]} culturesTried
 * @property {{ name: string, cultureCode: string } | null} chosen
 * @property {{ cultureCode: string, template: { name: string, active: boolean } }[]} coverage
 * @property {TemplateReport} report
 */

/** @typedef {{ state: string, reason: string | null, testMail: { address: string } }} TestMailStatus */

/** Past alerts that are offered as sample data. */
const MAX_ALERTS = 20;

/**
 * Return the application's templates and alert types, and the newest of its first hundred alerts.
 * @param {string} token
 * @returns {Promise<LoadedTemplates>}
 */
export async function loadTemplates(token) {
  const { templates, alertTypes, alertConnection } = await call(
    `query Templates {
      templates {
        templateId alertTypeId name channelType cultureCode active
        published { version }
        versions { version subject preheader htmlTemplate text createdAt publishedAt }
      }
      alertTypes { alertTypeId name systemAlertTypeId }
      alertConnection(first: 100) { edges { node { alertId systemAlertTypeId createdAt } } }
    }`,
    {},
    token,
  );
  /** @type {{ node: PastAlert }[]} */
  const edges = alertConnection.edges;
  const alerts = edges.map(({ node }) => node).reverse().slice(0, MAX_ALERTS);
  return { templates, alertTypes, alerts };
}

/**
 * Render a template without saving it.
 * @param {string} token
 * @param {PreviewInput} input
 * @returns {Promise<RenderedTemplate>}
 */
export async function previewTemplate(token, input) {
  const data = await call(
    `query Preview($input: TemplateToPreview!) {
      previewTemplate(input: $input) {
        subject preheader html text textMade data dataFrom culturesTried
        chosen { name cultureCode }
        coverage { cultureCode template { name active } }
        report { ok namesChecked htmlBytes textBytes findings { severity code part line column message hint } }
      }
    }`,
    { input },
    token,
  );
  return data.previewTemplate;
}

/**
 * Add a template and return its id. Its first version is published immediately.
 * @param {string} token
 * @param {TemplateAttributes & TemplateContent} input
 * @returns {Promise<string>}
 */
export async function addTemplate(token, input) {
  const data = await call(
    "mutation Add($input: NewTemplate!) { addTemplate(input: $input) { templateId } }",
    { input },
    token,
  );
  return data.addTemplate.templateId;
}

/**
 * Add a version to a template and return its number. It is not sent until it is published.
 * @param {string} token
 * @param {string} templateId
 * @param {TemplateContent} input
 * @returns {Promise<number>}
 */
export async function addVersion(token, templateId, input) {
  const data = await call(
    `mutation Save($templateId: ID!, $input: NewTemplateVersion!) {
      addTemplateVersion(templateId: $templateId, input: $input) { version }
    }`,
    { templateId, input },
    token,
  );
  return data.addTemplateVersion.version;
}

/**
 * Make a version the one that is sent.
 * @param {string} token
 * @param {string} templateId
 * @param {number} version
 */
export async function publishVersion(token, templateId, version) {
  await call(
    `mutation Publish($templateId: ID!, $version: Int!) {
      publishTemplate(templateId: $templateId, version: $version) { templateId }
    }`,
    { templateId, version },
    token,
  );
}

/**
 * Publish the version that was published before the current one.
 * @param {string} token
 * @param {string} templateId
 */
export async function rollBackTemplate(token, templateId) {
  await call(
    "mutation RollBack($templateId: ID!) { rollBackTemplate(templateId: $templateId) { templateId } }",
    { templateId },
    token,
  );
}

/**
 * Send the preview as a mail that is marked as a test. Return the id of the test mail.
 * @param {string} token
 * @param {string} address
 * @param {PreviewInput} input
 * @returns {Promise<string>}
 */
export async function sendTestMail(token, address, input) {
  const data = await call(
    `mutation SendTest($address: String!, $input: TemplateToPreview!) {
      sendTestMail(address: $address, input: $input) { testMail { testMailId } }
    }`,
    { address, input },
    token,
  );
  return data.sendTestMail.testMail.testMailId;
}

/**
 * Return the state of the delivery of a test mail.
 * @param {string} token
 * @param {string} testMailId
 * @returns {Promise<TestMailStatus>}
 */
export async function testMailStatus(token, testMailId) {
  const data = await call(
    "query TestMail($id: ID!) { testMail(testMailId: $id) { state reason testMail { address } } }",
    { id: testMailId },
    token,
  );
  return data.testMail;
}
