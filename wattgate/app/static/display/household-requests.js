/** The requests of the inbox, the alert rules and the daily budget. */

import { call } from "../shared/gateway.js";

/** @import { ReceivedAlert } from "./inbox.js" */
/** @import { AlertRule, NewAlertRule } from "./rules.js" */
/** @import { DisplayPreferences } from "./budget.js" */

/**
 * A page of alerts, newest first. `before` is where the older ones are read from, null if there are none.
 * @typedef {{ unread: number, alerts: ReceivedAlert[], before: string | null }} InboxPage
 */

/** @typedef {{ alertTypeId: string, active: boolean, ruleKind: string | null }} AlertType */

/**
 * A meter of the home, with its fields by name, such as POWER, and their units.
 * @typedef {{ resourceId: string, name: string, classifier: string, fields: Record<string, string> }} Meter
 */

/**
 * @typedef {object} HouseholdSettings
 * @property {AlertRule[]} rules
 * @property {AlertType[]} alertTypes
 * @property {Meter[]} meters
 * @property {Record<string, unknown>} attributes  Of the home.
 */

/** @typedef {{ tenancyId: string, meterPointNumber: string, beganAt: string | null, endedAt: string | null }} Tenancy */

/** The gateway's maximum of a list. */
const MAX_TENANCIES = 100;

const PAGE_SIZE = 30;

const INBOX = `query Inbox($size: Int!, $before: String) {
  viewer {
    unreadAlerts
    alerts(last: $size, before: $before) {
      edges {
        node {
          alertId createdAt readAt priority data
          alertType { name description }
          notifications { channel subject text }
        }
      }
      pageInfo { hasPreviousPage startCursor }
    }
  }
}`;

const MARK_READ = `mutation MarkRead($alertIds: [ID!]) {
  markAlertsRead(alertIds: $alertIds) { ... on MarkedAlerts { unread } ...Refused }
}`;

const RULE = `fragment Rule on AlertRule {
  ruleId name kind resourceId field unit function side threshold windowMinutes period channels enabled active
  quietFrom quietTo
}`;

const SETTINGS = `query Settings($homeId: ID!) {
  viewer { alertRules { ...Rule } }
  application { alertTypes { alertTypeId active ruleKind } }
  home(homeId: $homeId) {
    attributes
    resources { resourceId name classifier type { storage { fields { fieldName unit } } } }
  }
} ${RULE}`;

const TENANCIES = `query Tenancies($size: Int!) {
  viewer { tenancies(last: $size) { edges { node { tenancyId meterPointNumber beganAt endedAt } } } }
}`;

const ADD_RULE = `mutation AddRule($input: NewAlertRule!) {
  createAlertRule(input: $input) { ... on AlertRule { ...Rule } ...Refused }
} ${RULE}`;

const CHANGE_RULE = `mutation ChangeRule($ruleId: ID!, $input: AlertRuleChange!) {
  updateAlertRule(ruleId: $ruleId, input: $input) { ... on AlertRule { ...Rule } ...Refused }
} ${RULE}`;

const REMOVE_RULE = `mutation RemoveRule($ruleId: ID!) {
  deleteAlertRule(ruleId: $ruleId) { ... on AlertRule { ruleId } ...Refused }
}`;

const SET_PREFERENCES = `mutation SetPreferences($homeId: ID!, $attributes: JSON!) {
  setHomeAttributes(homeId: $homeId, attributes: $attributes) { ... on Home { attributes } ...Refused }
}`;

/**
 * Return the newest alerts of the user, or those before a cursor.
 * @param {string} token
 * @param {string | null} before
 * @returns {Promise<InboxPage>}
 */
export async function readInbox(token, before) {
  const { unreadAlerts, alerts } = (await call(INBOX, { size: PAGE_SIZE, before }, token)).viewer;
  const { hasPreviousPage, startCursor } = alerts.pageInfo;
  const newestFirst = alerts.edges.map((/** @type {any} */ edge) => edge.node).reverse();
  return { unread: unreadAlerts, alerts: newestFirst, before: hasPreviousPage ? startCursor : null };
}

/**
 * Mark alerts as read. Return how many are still unread.
 * @param {string} token
 * @param {string[] | null} alertIds  Null for all.
 * @returns {Promise<number>}
 */
export async function markRead(token, alertIds) {
  return (await call(MARK_READ, { alertIds }, token)).markAlertsRead.unread;
}

/**
 * Return the rules of the user, and what a home offers for new ones.
 * @param {string} token
 * @param {string} homeId
 * @returns {Promise<HouseholdSettings>}
 */
export async function readSettings(token, homeId) {
  const { viewer, application, home } = await call(SETTINGS, { homeId }, token);
  return {
    rules: viewer.alertRules,
    alertTypes: application.alertTypes,
    meters: home.resources.map(toMeter),
    attributes: home.attributes,
  };
}

/**
 * Return the times in which the user lives or has lived at meter points, newest record first.
 * @param {string} token
 * @returns {Promise<Tenancy[]>}
 */
export async function readTenancies(token) {
  const { edges } = (await call(TENANCIES, { size: MAX_TENANCIES }, token)).viewer.tenancies;
  return edges.map((/** @type {any} */ edge) => edge.node).reverse();
}

/**
 * @param {string} token
 * @param {NewAlertRule} input
 * @returns {Promise<AlertRule>}
 */
export async function addRule(token, input) {
  return (await call(ADD_RULE, { input }, token)).createAlertRule;
}

/**
 * @param {string} token
 * @param {string} ruleId
 * @param {{ enabled?: boolean, threshold?: string, name?: string }} input
 * @returns {Promise<AlertRule>}
 */
export async function changeRule(token, ruleId, input) {
  return (await call(CHANGE_RULE, { ruleId, input }, token)).updateAlertRule;
}

/**
 * @param {string} token
 * @param {string} ruleId
 */
export async function removeRule(token, ruleId) {
  await call(REMOVE_RULE, { ruleId }, token);
}

/**
 * Store the preferences of a home's display. Return all attributes of the home.
 * @param {string} token
 * @param {string} homeId
 * @param {DisplayPreferences} preferences
 * @returns {Promise<Record<string, unknown>>}
 */
export async function setPreferences(token, homeId, preferences) {
  const data = await call(SET_PREFERENCES, { homeId, attributes: { display: preferences } }, token);
  return data.setHomeAttributes.attributes;
}

/**
 * @param {any} resource
 * @returns {Meter}
 */
function toMeter({ resourceId, name, classifier, type }) {
  const fields = type.storage.flatMap((/** @type {any} */ storage) => storage.fields);
  const units = fields.map((/** @type {any} */ field) => [field.fieldName, field.unit]);
  return { resourceId, name, classifier, fields: Object.fromEntries(units) };
}
