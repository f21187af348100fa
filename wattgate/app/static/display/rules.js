/** Alert rules: those that the page offers, what each one says in words, and how a form becomes a rule. */

import { formatAge, formatEntry, groupSign, isMoney, unitsOfMoney } from "./format.js";
import { formatLimit, periodText } from "./inbox.js";
import { capitalise, text } from "./texts.js";

/** @import { AlertType, Meter } from "./household-requests.js" */

/**
 * @typedef {object} AlertRule
 * @property {string} ruleId
 * @property {string} name
 * @property {"THRESHOLD" | "NO_DATA" | "PACE"} kind
 * @property {string} resourceId
 * @property {string} field
 * @property {string} unit
 * @property {"SUM" | "AVG" | "MIN" | "MAX"} function
 * @property {"ABOVE" | "BELOW"} side
 * @property {string | null} threshold
 * @property {number} windowMinutes
 * @property {string} period
 * @property {string[]} channels
 * @property {boolean} enabled
 * @property {boolean} active
 * @property {string | null} quietFrom
 * @property {string | null} quietTo
 */

/**
 * A rule to add, as the gateway takes it.
 * @typedef {Record<string, unknown> & { name: string, kind: string, resourceId: string }} NewAlertRule
 */

/** @typedef {"power" | "day" | "pace" | "silence"} RuleForm */

/**
 * A rule that a home can have: its form, its meter, the unit of its amount and the alert type that it sends.
 * @typedef {{ form: RuleForm, meter: Meter, field: string, unit: string, alertTypeId: string }} RuleChoice
 */

/**
 * The entries of the user. The amount is in the unit of the form: kW, units of energy, money or hours.
 * @typedef {{ amount: string, period: string, channels: string[] }} RuleEntries
 */

const MINUTES_OF_HOUR = 60;
const MINUTES_OF_DAY = 24 * MINUTES_OF_HOUR;
const WATTS = 1000;
const POWER_WINDOW_MINUTES = 10;
const MAX_HOURS = 31 * 24;
const MAX_DECIMALS = 3;
/** The number of the gateway that no threshold may exceed. */
const MAX_AMOUNT = 1e9;
const PLAIN_NUMBER = /^(?:\d+[.,]?\d*|[.,]\d+)$/;
/** A number that has a group of three digits, or three decimals. */
const GROUPED_NUMBER = /^[1-9]\d{0,2}[.,]\d{3}$/;
/** A rule of power ends when the power is this part below the limit, so that a limit is not crossed again and again. */
const HYSTERESIS = 0.1;

/** @type {Record<RuleForm, AlertRule["kind"]>} */
const KINDS = { power: "THRESHOLD", day: "THRESHOLD", pace: "PACE", silence: "NO_DATA" };
/** The meters about which a household has rules. Meters of costs have a budget only. */
const METERS = ["electricity.consumption", "gas.consumption", "electricity.export"];
const COST_SUFFIX = ".cost";

/**
 * Return the rules that a home can have: those for which the application has a type of alert.
 * @param {Meter[]} meters
 * @param {AlertType[]} alertTypes
 * @returns {RuleChoice[]}
 */
export function ruleChoices(meters, alertTypes) {
  return /** @type {RuleForm[]} */ (Object.keys(KINDS)).flatMap((form) => {
    const type = alertTypes.find(({ active, ruleKind }) => active && ruleKind === KINDS[form]);
    return type ? metersOf(form, meters).map((found) => ({ ...found, form, alertTypeId: type.alertTypeId })) : [];
  });
}

/**
 * Return the rule that a form describes, or the text of its problem.
 * @param {RuleChoice} choice
 * @param {RuleEntries} entries
 * @returns {{ input: NewAlertRule } | { problem: string }}
 */
export function buildRule({ form, meter, field, unit, alertTypeId }, { amount, period, channels }) {
  const number = parseAmount(amount);
  if (number === null) return { problem: text("rules.noAmount") };
  if (channels.length === 0) return { problem: text("rules.noChannel") };
  if (form === "silence" && (number > MAX_HOURS || number * MINUTES_OF_HOUR < 1)) {
    return { problem: text("rules.hoursRange", { hours: MAX_HOURS }) };
  }
  const terms = termsOf(form, number, unit, period);
  const rule = { kind: KINDS[form], resourceId: meter.resourceId, field, ...terms };
  const name = capped(ruleSentence({ function: "SUM", side: "ABOVE", period, unit, ...rule }, meter.name));
  return { input: { ...rule, name, alertTypeId, channels } };
}

/**
 * Return a rule in words.
 * @param {Pick<AlertRule, "kind" | "function" | "side" | "unit" | "windowMinutes" | "period"> & { threshold?: string | null }} rule
 * @param {string} name  Of its meter.
 * @returns {string}
 */
export function ruleSentence({ kind, function: combined, side, unit, threshold = null, windowMinutes, period }, name) {
  const meter = capitalise(name);
  const age = formatAge(windowMinutes * 60_000);
  if (kind === "NO_DATA") return text("rules.saysSilence", { meter, age });
  const amount = formatLimit(Number(threshold), unit);
  if (kind === "PACE") return text("rules.saysPace", { meter, amount, period: periodText(period) });
  if (side === "BELOW") return text("rules.saysBelow", { meter, amount, age });
  return text(combined === "SUM" ? "rules.saysSum" : "rules.saysAbove", { meter, amount, age });
}

/**
 * Return the number that the user has typed, with a point or a comma. Null if it is not a positive number, or if its
 * sign could be the group sign of the locale: 1,500 may be one and a half or fifteen hundred.
 * @param {string} entry
 * @returns {number | null}
 */
export function parseAmount(entry) {
  const typed = entry.trim();
  if (!PLAIN_NUMBER.test(typed)) return null;
  return GROUPED_NUMBER.test(typed) && typed.at(-4) === groupSign() ? null : checkedAmount(typed.replace(",", "."));
}

/**
 * Return an amount as the page stores it. Null if it is not positive, or too large.
 * @param {string} decimal  With a point.
 * @returns {number | null}
 */
export function checkedAmount(decimal) {
  const number = Number(decimal);
  return number > 0 && number <= MAX_AMOUNT ? Number(number.toFixed(MAX_DECIMALS)) || null : null;
}

/**
 * Return the unit in which the user enters the amount of a rule. Money has none.
 * @param {Pick<RuleChoice, "form" | "unit">} choice
 */
export function entryUnit({ form, unit }) {
  if (form === "power") return "kW";
  if (form === "silence") return text("rules.hours");
  return isMoney(unit) ? "" : unit;
}

/**
 * Return the limit of a rule as the user edits it: power in kW, money in the currency.
 * @param {string} threshold
 * @param {string} unit  Of the rule.
 * @returns {{ value: string, unit: string }}
 */
export function limitEntry(threshold, unit) {
  const factor = factorOf(unit);
  return { value: formatEntry(Number(threshold) / factor), unit: unit === "W" ? "kW" : isMoney(unit) ? "" : unit };
}

/**
 * Return the threshold of a limit that the user has typed. Null if it is not a positive number.
 * @param {string} entry
 * @param {string} unit  Of the rule.
 * @returns {string | null}
 */
export function limitThreshold(entry, unit) {
  const number = parseAmount(entry);
  return number === null ? null : String(Number((number * factorOf(unit)).toFixed(MAX_DECIMALS)));
}

/** @param {string} unit */
function factorOf(unit) {
  if (unit === "W") return WATTS;
  return isMoney(unit) ? unitsOfMoney(unit) : 1;
}

/**
 * @param {RuleForm} form
 * @param {Meter[]} meters
 * @returns {Pick<RuleChoice, "meter" | "field" | "unit">[]}
 */
function metersOf(form, meters) {
  return meters.flatMap((meter) => {
    const isMeasured = METERS.includes(meter.classifier);
    const isCost = meter.classifier.endsWith(COST_SUFFIX);
    const [first, unit] = Object.entries(meter.fields)[0] ?? [];
    if (form === "power") {
      return isMeasured && meter.fields.POWER === "W" ? [{ meter, field: "POWER", unit: "W" }] : [];
    }
    if (!first || !(isMeasured || (isCost && form === "pace"))) return [];
    return [{ meter, field: first, unit }];
  });
}

/**
 * @param {RuleForm} form
 * @param {number} amount
 * @param {string} unit
 * @param {string} period
 */
function termsOf(form, amount, unit, period) {
  switch (form) {
    case "power": {
      const watts = Math.round(amount * WATTS);
      const hysteresis = String(Math.floor(watts * HYSTERESIS));
      const terms = { function: /** @type {const} */ ("AVG"), threshold: String(watts), hysteresis };
      return { ...terms, windowMinutes: POWER_WINDOW_MINUTES };
    }
    case "day":
      return { threshold: String(amount), windowMinutes: MINUTES_OF_DAY };
    case "pace": {
      const threshold = unitsOfMoney(unit) === 1 ? amount : Math.round(amount * unitsOfMoney(unit));
      return { threshold: String(threshold), windowMinutes: paceWindow(period), period };
    }
    default:
      return { windowMinutes: Math.round(amount * MINUTES_OF_HOUR) };
  }
}

/**
 * Return the part of a period that must be over before its pace says something, in minutes: about a quarter.
 * @param {string} period
 */
function paceWindow(period) {
  if (period === "P1D") return MINUTES_OF_DAY / 4;
  return period === "P1W" ? 2 * MINUTES_OF_DAY : 7 * MINUTES_OF_DAY;
}

/**
 * Names have at most 200 characters.
 * @param {string} name
 */
function capped(name) {
  return name.length > 200 ? `${name.slice(0, 199)}…` : name;
}
