/** Turns the readings and costs of a home into the columns of the history chart. */

/** @import { NoValueReason } from "./cost-basis.js" */
/** @import { CostBucket, Series } from "../shared/gateway.js" */

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** @typedef {"hours" | "days" | "weeks" | "months"} ViewName */
/** @typedef {"cost" | "electricity" | "gas" | "exported"} Measure */

/**
 * A view of the history: the length of its buckets (ISO 8601), how many it shows, and how far back it reads, in
 * milliseconds.
 * @typedef {{ period: string, count: number, lookback: number }} View
 */

/**
 * Reasons why a value is incomplete: `running` (the bucket is not over), `late` (readings may still arrive), `gaps` (some readings
 * are missing), `missing` (all are missing), `estimated`, `unpriced`; and for an unknown cost `noTariff` or `noPrice`.
 * @typedef {"running" | "late" | "gaps" | "missing" | "estimated" | "unpriced" | "noTariff" | "noPrice"} Mark
 */

/**
 * A column of the chart, with times in milliseconds since 1970. Parts are listed from the bottom up. A value that is
 * not known is null.
 * @typedef {object} Column
 * @property {number} start
 * @property {number} end
 * @property {[name: string, value: number][]} parts
 * @property {number | null} value
 * @property {Set<Mark>} marks
 * @property {string} unit  Of an energy, or the currency of a cost.
 */

/**
 * The amount and the cost of one energy in one bucket.
 * @typedef {object} Sample
 * @property {string} name
 * @property {number} start
 * @property {number} end
 * @property {number | null} value
 * @property {string} unit
 * @property {Set<Mark>} marks
 * @property {CostBucket | null} cost
 * @property {string} currency  Empty without costs.
 * @property {NoValueReason | null} reason  Why the cost is not known.
 */

/**
 * The views. Each lookback covers at least the buckets that are shown, also when clocks change or months are long.
 * @type {Record<ViewName, View>}
 */
export const VIEWS = {
  hours: { period: "PT1H", count: 24, lookback: DAY },
  days: { period: "P1D", count: 8, lookback: 8 * DAY },
  weeks: { period: "P1W", count: 5, lookback: 35 * DAY },
  months: { period: "P1M", count: 13, lookback: 397 * DAY },
};

/** Milliseconds after its end for which a bucket may still wait for readings that the meter network delivers late. */
const LATE_WINDOW = 2 * DAY;

/**
 * Return the columns of one measure, oldest first.
 * @param {Measure} measure
 * @param {Record<string, Series>} series  By energy.
 * @param {ViewName} view
 * @param {number} now
 * @param {number} [count]  At most so many of the newest buckets.
 * @returns {Column[]}
 */
export function buildColumns(measure, series, view, now, count = VIEWS[view].count) {
  const names = measure === "cost" ? billedEnergies(series) : [measure];
  const chosen = names.map((name) => ({ name, readings: series[name].readings, costs: series[name].costs }));
  const length = Math.min(count, ...chosen.map(({ readings }) => readings.buckets.length));
  return Array.from({ length }, (_, index) => {
    const samples = chosen.map((one) => sampleAt(one.name, one, one.readings.buckets.length - length + index, now));
    return measure === "cost" ? costColumn(samples, view) : energyColumn(samples[0]);
  });
}

/**
 * Return the sum of all known columns, and the mean of those that are complete. Null if there is none.
 * @param {Column[]} columns
 * @returns {{ total: number | null, mean: number | null }}
 */
export function summarise(columns) {
  const known = columns.filter(({ value }) => value !== null);
  const complete = known.filter(({ marks }) => !marks.has("running") && !marks.has("late"));
  return { total: known.length ? sum(known) : null, mean: complete.length ? sum(complete) / complete.length : null };
}

/**
 * @param {string} name
 * @param {Series} series
 * @param {number} index  Of the bucket, from the beginning of the readings.
 * @param {number} now
 * @returns {Sample}
 */
function sampleAt(name, { readings, costs }, index, now) {
  const bucket = readings.buckets[index];
  const [start, end] = [Date.parse(bucket.start), Date.parse(bucket.end)];
  const collectedTo = readings.collectedTo ? Date.parse(readings.collectedTo) : 0;
  const running = now < end;
  const late = !running && end > collectedTo && now - end < LATE_WINDOW;
  /** @type {Set<Mark>} */
  const marks = new Set();
  if (running) marks.add("running");
  else if (late) marks.add("late");
  else if (bucket.quality === "MISSING") marks.add("missing");
  else if (bucket.quality === "PARTIAL") marks.add("gaps");
  if (bucket.estimated > 0) marks.add("estimated");
  // Costs have the same buckets as readings, counted from the end.
  const cost = costs?.buckets.at(index - readings.buckets.length) ?? null;
  const reason = costs ? (cost?.noValueReason ?? null) : "NO_TARIFF";
  const currency = costs?.currency ?? "";
  return { name, start, end, value: bucket.value, unit: readings.unit, marks, cost, currency, reason };
}

/**
 * @param {Sample} sample
 * @returns {Column}
 */
function energyColumn({ name, start, end, value, unit, marks }) {
  return { start, end, parts: value === null ? [] : [[name, value]], value, marks, unit };
}

/**
 * @param {Sample[]} samples  Of the energies that have a cost, in the same bucket.
 * @param {ViewName} view
 * @returns {Column}
 */
function costColumn(samples, view) {
  /** @type {[name: string, value: number][]} */
  const parts = samples.flatMap(({ name, cost }) => {
    return cost && cost.energyCostWithVat !== null ? [[name, Number(cost.energyCostWithVat)]] : [];
  });
  const standing = samples.reduce((total, { cost }) => total + Number(cost?.standingChargesWithVat ?? 0), 0);
  if (includesStandingCharge(view) && parts.length > 0 && standing > 0) parts.push(["standing", standing]);
  const value = parts.length ? parts.reduce((total, [, part]) => total + part, 0) : null;
  const marks = new Set(samples.flatMap((sample) => [...sample.marks]));
  const reason = value === null ? unknownCostMark(samples) : null;
  if (value !== null) {
    if (samples.some(isPartlyUnpriced)) marks.add("unpriced");
    if (marks.delete("missing")) marks.add("gaps");
  } else if (reason) {
    marks.delete("missing");
    marks.add(reason);
  } else if (!marks.has("running") && !marks.has("late")) marks.add("missing");
  const unit = samples.map(({ currency }) => currency).find(Boolean) ?? "";
  return { start: samples[0].start, end: samples[0].end, parts, value, marks, unit };
}

/**
 * Return why the samples have no cost. Null if no energy is known of which the cost could be unknown.
 * @param {Sample[]} samples
 * @returns {"noTariff" | "noPrice" | null}
 */
function unknownCostMark(samples) {
  const withEnergy = samples.filter(({ value }) => value !== null);
  const reasons = new Set((withEnergy.length ? withEnergy : samples).map(({ reason }) => reason));
  if (reasons.has("NO_PRICE")) return "noPrice";
  return reasons.has("NO_TARIFF") && !reasons.has("NO_READINGS") ? "noTariff" : null;
}

/**
 * Whether some energy of a sample is not in the cost, because it has no tariff or no price.
 * @param {Sample} sample
 */
function isPartlyUnpriced({ value, cost, reason }) {
  if (Number(cost?.unpriced ?? 0) > 0) return true;
  return value !== null && (reason === "NO_TARIFF" || reason === "NO_PRICE");
}

/**
 * Return whether the costs of a view include standing charges. These are for whole days: no single hour includes them.
 * @param {ViewName} view
 */
export function includesStandingCharge(view) {
  return view !== "hours";
}

/**
 * Return the energies whose costs are shown. Exported energy is not deducted.
 * @param {Record<string, Series>} series  By energy.
 */
function billedEnergies(series) {
  return Object.keys(series).filter((name) => name !== "exported");
}

/**
 * Return whether no energy of a home has a tariff.
 * @param {Record<string, Series>} series  By energy.
 */
export function hasNoTariff(series) {
  return billedEnergies(series).every((name) => !series[name].costs);
}

/**
 * Return whether some cost is known.
 * @param {Record<string, Series>} series  By energy.
 */
export function isCostKnown(series) {
  const costs = billedEnergies(series).flatMap((name) => series[name].costs ?? []);
  return costs.some(({ buckets }) => buckets.some(({ energyCostWithVat }) => energyCostWithVat !== null));
}

/** @param {Column[]} columns */
function sum(columns) {
  return columns.reduce((total, { value }) => total + (value ?? 0), 0);
}
