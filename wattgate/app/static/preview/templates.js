/** What the page asks of the gateway: templates and their versions, past alerts, and how a template would look. */

import { call } from "../shared/gateway.js";

const MAX_ALERTS = 20;

/** The application's templates and alert types, and its newest hundred alerts at most. */
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
  const alerts = alertConnection.edges.map((edge) => edge.node).reverse().slice(0, MAX_ALERTS);
  return { templates, alertTypes, alerts };
}

export async function previewTemplate(token, input) {
  const data = await call(
    `query Preview($input: TemplateToPreview!) {
      previewTemplate(input: $input) {
        subject preheader html text textMade data dataFrom culturesTried
        chosen { name cultureCode }
        coverage { cultureCode template { name active } }
        report { ok htmlBytes textBytes findings { severity code part line column message hint } }
      }
    }`,
    { input },
    token,
  );
  return data.previewTemplate;
}

/** Add a template, whose first version is published at once; its id. */
export async function addTemplate(token, input) {
  const data = await call(
    "mutation Add($input: NewTemplate!) { addTemplate(input: $input) { templateId } }",
    { input },
    token,
  );
  return data.addTemplate.templateId;
}

/** Add a version of a template, which nobody gets until it is published; its number. */
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

export function publishVersion(token, templateId, version) {
  return call(
    `mutation Publish($templateId: ID!, $version: Int!) {
      publishTemplate(templateId: $templateId, version: $version) { templateId }
    }`,
    { templateId, version },
    token,
  );
}

export function rollBackTemplate(token, templateId) {
  return call(
    "mutation RollBack($templateId: ID!) { rollBackTemplate(templateId: $templateId) { templateId } }",
    { templateId },
    token,
  );
}

/** Send what a preview shows to an address, as a mail that says that it is a test. */
export async function sendTestMail(token, address, input) {
  const data = await call(
    `mutation SendTest($address: String!, $input: TemplateToPreview!) {
      sendTestMail(address: $address, input: $input) { testMail { testMailId } }
    }`,
    { address, input },
    token,
  );
  return data.sendTestMail;
}

/** How far a test mail is. */
export async function testMailStatus(token, testMailId) {
  const data = await call(
    "query TestMail($id: ID!) { testMail(testMailId: $id) { state reason testMail { address } } }",
    { id: testMailId },
    token,
  );
  return data.testMail;
}
