/** Texts about a template: its state, its readers, and other templates for the same alerts. */

/** @import { AlertType, Template, TemplateAttributes, TemplateVersion } from "./templates.js" */

/**
 * The state of the open version. `tone` sets its colour.
 * @typedef {{ text: string, tone: "changed" | "good" | "quiet" | "bad" }} EditState
 */

/** @type {Record<string, string>} */
const CHANNELS = { EMAIL: "by e-mail", PUSH: "as a push message", INBOX: "in the inbox" };

/**
 * Return the state of the open version.
 * @param {Template | null} template  Null for a new one.
 * @param {TemplateVersion | null} version
 * @param {boolean} isChanged  Whether the page has changes that are not saved.
 * @returns {EditState}
 */
export function describeState(template, version, isChanged) {
  if (isChanged) return { text: "Unsaved changes", tone: "changed" };
  if (!template || !version) return { text: "Not saved yet", tone: "quiet" };
  if (template.archivedAt) return { text: "Archived", tone: "quiet" };
  if (version.version === template.published?.version) {
    return template.inUse ? { text: "Published", tone: "good" } : { text: "Published, not used", tone: "bad" };
  }
  return { text: version.publishedAt ? "Former version" : "Draft", tone: "quiet" };
}

/**
 * Return the label of a template in the list.
 * @param {Template} template
 */
export function templateLabel(template) {
  const label = `${template.name} · ${template.channelType.toLowerCase()} · ${template.cultureCode}`;
  if (template.archivedAt) return `${label} · archived`;
  if (!template.published) return `${label} · draft`;
  return template.inUse ? label : `${label} · not used`;
}

/**
 * Return the label of a version in the list.
 * @param {Template} template
 * @param {TemplateVersion} version
 */
export function versionLabel(template, { version, publishedAt }) {
  if (version === template.published?.version) return `Version ${version}, published`;
  return `Version ${version}${publishedAt ? "" : ", draft"}`;
}

/**
 * Return which messages a template is for, and who gets them.
 * @param {TemplateAttributes} template
 * @param {AlertType[]} alertTypes
 */
export function describeAudience({ alertTypeId, channelType, cultureCode }, alertTypes) {
  const type = alertTypes.find((known) => known.alertTypeId === alertTypeId);
  const alerts = type ? `“${type.systemAlertTypeId} ${type.name}”` : "of this type";
  const channel = CHANNELS[channelType] ?? channelType;
  return `alerts ${alerts} ${channel}, for readers whose culture is ${cultureCode} or falls back to it`;
}

/**
 * Return the published templates for the same alert type, channel and culture, newest first.
 * @param {TemplateAttributes} target
 * @param {Template[]} templates  In the order of their creation.
 * @param {string} [ownId]  The template that is compared with the others.
 */
export function findDuplicates({ alertTypeId, channelType, cultureCode }, templates, ownId) {
  return templates
    .filter((other) => {
      return (
        other.published !== null &&
        other.templateId !== ownId &&
        other.alertTypeId === alertTypeId &&
        other.channelType === channelType &&
        other.cultureCode.toLowerCase() === cultureCode.trim().toLowerCase()
      );
    })
    .reverse();
}

/**
 * Return a warning about published templates for the same alerts, or null if there are none.
 * @param {Template | null} template  The open template, or null for a new one.
 * @param {TemplateAttributes} attributes
 * @param {Template[]} templates  In the order of their creation.
 * @returns {{ text: string, other: Template } | null}
 */
export function warnOfDuplicates(template, attributes, templates) {
  if (template?.archivedAt) return null;
  const [other] = findDuplicates(attributes, templates, template?.templateId);
  if (!other) return null;
  const same = `“${other.name}” is published for the same alerts, channel and culture.`;
  if (!template) {
    return { other, text: `${same} When you publish this new template, alerts use it instead, because it is newer.` };
  }
  if (templates.indexOf(other) > templates.findIndex(({ templateId }) => templateId === template.templateId)) {
    const published = template.published ? "so that this template is not sent" : "even after you publish this one";
    return { other, text: `${same} Alerts use it, because it is newer, ${published}. Archive one of the two.` };
  }
  const uses = template.published ? "Alerts use this template" : "After publication, alerts use this template";
  return { other, text: `${same} ${uses}, because it is newer. Archive the other one.` };
}
