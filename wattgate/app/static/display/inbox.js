/** The alerts of the inbox: what each one says, and the list as pages arrive and alerts are marked as read. */

import { formatAge, formatAxisNumber, formatEnergy, formatMoney, formatPower, isMoney, unitsOfMoney } from "./format.js";
import { capitalise, text } from "./texts.js";

/** @import { InboxPage } from "./household-requests.js" */

/**
 * An alert as the gateway describes it. `data` fills its templates; an alert of a rule has the variables of the rule.
 * @typedef {object} ReceivedAlert
 * @property {string} alertId
 * @property {string} createdAt
 * @property {string | null} readAt
 * @property {string} priority
 * @property {any} data
 * @property {{ name: string, description: string } | null} alertType
 * @property {{ channel: string, subject: string | null, text: string | null }[]} notifications
 */

/**
 * The alerts that are known, newest first. `before` is where the older ones are read from, null if there are none.
 * @typedef {{ alerts: ReceivedAlert[], unread: number, before: string | null }} Inbox
 */

/** The channels whose texts say an alert, the shortest one first. */
const CHANNELS = ["INBOX", "PUSH", "EMAIL"];
/** Alerts that the page keeps at most. Older ones are in the app. */
const MAX_ALERTS = 300;
const WATTS = 1000;

/**
 * Return what an alert says.
 * @param {ReceivedAlert} alert
 * @returns {{ title: string, body: string }}
 */
export function describeAlert({ data, alertType, notifications }) {
  if (typeof data?.rule === "string") return { title: data.rule, body: ruleBody(data) };
  const written = CHANNELS.flatMap((name) => notifications.filter(({ channel }) => channel === name));
  const message = written.find(({ subject }) => subject);
  const body = message && message.channel !== "EMAIL" ? (message.text ?? "") : (alertType?.description ?? "");
  return { title: message?.subject ?? alertType?.name ?? text("inbox.alert"), body };
}

/**
 * Add a page to an inbox, or replace the inbox if there is a gap between them. The newest page replaces the alerts
 * between its first and its last one. If there are no older ones, it replaces these as well.
 * @param {Inbox | null} inbox
 * @param {InboxPage} page
 * @param {boolean} isNewest
 * @returns {Inbox}
 */
export function mergePage(inbox, page, isNewest) {
  const { unread, before } = page;
  const known = inbox?.alerts ?? [];
  const fresh = new Set(page.alerts.map(({ alertId }) => alertId));
  const isGap = isNewest && before !== null && !known.some(({ alertId }) => fresh.has(alertId));
  if (!inbox || isGap || page.alerts.length === 0 && isNewest) return { alerts: page.alerts, unread, before };
  const others = known.filter(({ alertId }) => !fresh.has(alertId));
  const [newest, oldest] = [page.alerts.at(0), page.alerts.at(-1)].map(timeOf);
  const newer = others.filter((alert) => timeOf(alert) > newest);
  const older = before === null ? [] : others.filter((alert) => timeOf(alert) <= oldest);
  const kept = isNewest ? [...newer, ...older] : others;
  const alerts = [...kept, ...page.alerts].sort((one, other) => timeOf(other) - timeOf(one)).slice(0, MAX_ALERTS);
  const next = isNewest && older.length > 0 ? inbox.before : before;
  return { alerts, unread, before: alerts.length >= MAX_ALERTS ? null : next };
}

/**
 * Return an inbox in which alerts are read.
 * @param {Inbox} inbox
 * @param {string[] | null} alertIds  Null for all.
 * @param {number} unread  How many alerts are still unread, by the gateway.
 * @param {string} at
 * @returns {Inbox}
 */
export function withRead(inbox, alertIds, unread, at) {
  const alerts = inbox.alerts.map((alert) => {
    const isMarked = alert.readAt === null && (alertIds === null || alertIds.includes(alert.alertId));
    return isMarked ? { ...alert, readAt: at } : alert;
  });
  return { ...inbox, alerts, unread };
}

/** @param {ReceivedAlert | undefined} alert */
function timeOf(alert) {
  return Date.parse(alert?.createdAt ?? "");
}

/** @param {any} data */
function ruleBody({ kind, resource, value, unit, threshold, period }) {
  const meter = capitalise(String(resource ?? ""));
  if (kind === "NO_DATA") return text("inbox.NO_DATA", { meter, age: formatAge(Number(value) * 1000) });
  const [amount, limit] = [formatAmount(Number(value), String(unit)), formatLimit(Number(threshold), String(unit))];
  if (kind === "PACE") return text("inbox.PACE", { meter, amount, limit, period: periodText(period) });
  return text("inbox.THRESHOLD", { meter, amount, limit });
}

/**
 * Return the name of a period of a budget.
 * @param {unknown} period
 */
export function periodText(period) {
  if (period === "P1D") return text("rules.P1D");
  return text(period === "P1W" ? "rules.P1W" : "rules.P1M");
}

/**
 * Return a limit with its unit, without decimals that nobody has entered.
 * @param {number} value
 * @param {string} unit  Of a storage field, such as kWh, W or pence.
 */
export function formatLimit(value, unit) {
  if (isMoney(unit)) return formatMoney(value / unitsOfMoney(unit));
  const isLarge = unit === "W" && Math.abs(value) >= WATTS;
  return `${formatAxisNumber(isLarge ? value / WATTS : value)} ${isLarge ? "kW" : unit}`;
}

/**
 * Return an amount with its unit.
 * @param {number} value
 * @param {string} unit  Of a storage field, such as kWh, W or pence.
 */
function formatAmount(value, unit) {
  if (isMoney(unit)) return formatMoney(value / unitsOfMoney(unit));
  if (unit !== "W") return formatEnergy(value, unit);
  const { number, unit: size } = formatPower(value);
  return `${value < 0 ? "-" : ""}${number} ${size}`;
}
