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
 *   archivedAt: string | null,
 *   inUse: boolean,
 *   published: { version: number } | null,
 *   versions: TemplateVersion[],
 * }} Template
 */

/** @typedef {{ alertTypeId: string, name: string, systemAlertTypeId: string }} AlertType */
/** @typedef {{ alertId: string, systemAlertTypeId: string, createdAt: string }} PastAlert */
/** @typedef {{ templates: Template[], alertTypes: AlertType[] }} LoadedTemplates */

/** @typedef {{ edges: { node: Template }[], pageInfo: { hasNextPage: boolean, endCursor: string | null } }} TemplatePage */

/**
 * A variable of an alert type. `base` ones are those of every alert.
 * @typedef {object} AlertVariable
 * @property {string} name
 * @property {string} type
 * @property {string | null} unit
 * @property {unknown} sample
 * @property {string} description
 * @property {boolean} required
 * @property {boolean} base
 */

/** @typedef {{ variables: AlertVariable[], alerts: PastAlert[] }} AlertTypeDetails */

/**
 * Request to render: a template's content, and the sample data or the past alert whose data it gets.
 * @typedef {object} PreviewInput
 * @property {string | null} templateId  Null for a new template.
 * @property {string | null} alertTypeId
 * @property {string} channelType
 * @property {string | null} cultureCode
 * @property {string} html
 * @property {string} subject
 * @property {string} preheader
 * @property {string | null} text
 * @property {object} [data]
 * @property {string} [alertId]
 * @property {boolean} [samples]  Use the samples of the alert type, and no past alert.
 * @property {boolean} [tryLinks]  Request the links and images, and report those that do not answer.
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

/** Templates of a page of the list. */
const PAGE_SIZE = 50;

const TEMPLATES = `query Templates($first: Int!, $after: String) {
  application {
    alertTypes { alertTypeId name systemAlertTypeId }
    templates(first: $first, after: $after) {
      edges { node {
        templateId alertTypeId name channelType cultureCode active archivedAt inUse
        published { version }
        versions { version subject preheader htmlTemplate text createdAt publishedAt }
      } }
      pageInfo { hasNextPage endCursor }
    }
  }
}`;

/** Past alerts of a type that are offered as sample data. */
const MAX_ALERTS = 20;

/**
 * Return the application's templates and alert types.
 * @param {string} token
 * @returns {Promise<LoadedTemplates>}
 */
export async function loadTemplates(token) {
  const templates = [];
  let alertTypes;
  let after = null;
  do {
    /** @type {{ application: { alertTypes: AlertType[], templates: TemplatePage } }} */
    const { application } = await call(TEMPLATES, { first: PAGE_SIZE, after }, token);
    const { edges, pageInfo } = application.templates;
    templates.push(...edges.map(({ node }) => node));
    ({ alertTypes } = application);
    after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
  } while (after);
  return { templates, alertTypes };
}

/**
 * Return the variables of an alert type, and its newest alerts.
 * @param {string} token
 * @param {string} alertTypeId
 * @returns {Promise<AlertTypeDetails>}
 */
export async function loadAlertType(token, alertTypeId) {
  const data = await call(
    `query AlertType($id: ID!, $last: Int!) {
      node(id: $id) {
        ... on AlertType {
          variables { name type unit sample description required base }
          alerts(last: $last) { edges { node { alertId systemAlertTypeId createdAt } } }
        }
      }
    }`,
    { id: btoa(`AlertType:${alertTypeId}`), last: MAX_ALERTS },
    token,
  );
  /** @type {{ edges: { node: PastAlert }[] }} */
  const { edges } = data.node.alerts;
  return { variables: data.node.variables, alerts: edges.map(({ node }) => node).reverse() };
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
 * Add a template as a draft and return its id.
 * @param {string} token
 * @param {TemplateAttributes & TemplateContent} input
 * @returns {Promise<string>}
 */
export async function createTemplate(token, input) {
  const data = await call(
    "mutation Add($input: NewTemplate!) { createTemplate(input: $input) { ... on Template { templateId } ...Refused } }",
    { input },
    token,
  );
  return data.createTemplate.templateId;
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
      createTemplateVersion(templateId: $templateId, input: $input) { ... on TemplateVersion { version } ...Refused }
    }`,
    { templateId, input },
    token,
  );
  return data.createTemplateVersion.version;
}

/**
 * Give a template another name.
 * @param {string} token
 * @param {string} templateId
 * @param {string} name
 */
export async function renameTemplate(token, templateId, name) {
  await call(
    `mutation Rename($templateId: ID!, $name: String!) {
      updateTemplate(templateId: $templateId, input: { name: $name }) { ... on Template { templateId } ...Refused }
    }`,
    { templateId, name },
    token,
  );
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
      publishTemplate(templateId: $templateId, version: $version) { ... on Template { templateId } ...Refused }
    }`,
    { templateId, version },
    token,
  );
}

/**
 * Publish a version again that was published before.
 * @param {string} token
 * @param {string} templateId
 * @param {number} version
 */
export async function rollBackTemplate(token, templateId, version) {
  await call(
    `mutation RollBack($templateId: ID!, $version: Int!) {
      rollBackTemplate(templateId: $templateId, version: $version) { ... on Template { templateId } ...Refused }
    }`,
    { templateId, version },
    token,
  );
}

/**
 * Withdraw the published version of a template, so that alerts no longer use the template.
 * @param {string} token
 * @param {string} templateId
 */
export async function withdrawTemplate(token, templateId) {
  await call(
    `mutation Withdraw($templateId: ID!) {
      updateTemplate(templateId: $templateId, input: { active: false }) { ... on Template { templateId } ...Refused }
    }`,
    { templateId },
    token,
  );
}

/**
 * @param {string} token
 * @param {string} templateId
 */
export async function archiveTemplate(token, templateId) {
  const document = "mutation Archive($templateId: ID!) { archiveTemplate(templateId: $templateId) { ... on Template { templateId } ...Refused } }";
  await call(document, { templateId }, token);
}

/**
 * @param {string} token
 * @param {string} templateId
 */
export async function restoreTemplate(token, templateId) {
  const document = "mutation Restore($templateId: ID!) { restoreTemplate(templateId: $templateId) { ... on Template { templateId } ...Refused } }";
  await call(document, { templateId }, token);
}

/**
 * Return a link to the preview of a version, which works without a log-in until it expires.
 * @param {string} token
 * @param {string} templateId
 * @param {number} version
 * @param {number} hours
 * @returns {Promise<{ previewUrl: string, expiresAt: string }>}
 */
export async function sharePreview(token, templateId, version, hours) {
  const data = await call(
    `mutation Share($templateId: ID!, $version: Int!, $hours: Int!) {
      shareTemplatePreview(templateId: $templateId, version: $version, hours: $hours) {
        ... on SharedTemplatePreview { previewUrl expiresAt }
        ...Refused
      }
    }`,
    { templateId, version, hours },
    token,
  );
  return data.shareTemplatePreview;
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
      sendTestMail(address: $address, input: $input) { ... on SentTestMail { testMail { testMailId } } ...Refused }
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
