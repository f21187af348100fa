/** From the readings and costs of a home to bars: what each span came to, and what that is worth. */

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const PENCE = 100;

/** How far back each view asks: a little further than is shown, whatever the clocks did meanwhile. */
export const VIEWS = {
  hours: { period: "PT1H", count: 24, lookback: DAY, title: "Last 24 hours", unit: "an hour" },
  days: { period: "P1D", count: 8, lookback: 8 * DAY, title: "Last 8 days", unit: "a day" },
  weeks: { period: "P1W", count: 5, lookback: 35 * DAY, title: "Last 5 weeks", unit: "a week" },
  months: { period: "P1M", count: 13, lookback: 397 * DAY, title: "Last 13 months", unit: "a month" },
};

/** How long after its end a span may still be waiting for readings that the meter network delivers late. */
const LATE_WINDOW = 2 * DAY;

/**
 * The columns `{ start, end, parts, value, marks, unit }` of one measure, times in milliseconds. Parts are `[name,
 * value]`, from the bottom up. A value of null is not known. Marks say what a value is worth: `running` (not over),
 * `late` (not all has come in), `gaps` (some is missing), `missing` (all is), `estimated`, `unpriced`.
 */
export function buildColumns(measure, series, view, now) {
  const { count } = VIEWS[view];
  const names = measure === "cost" ? Object.keys(series).filter((name) => name !== "exported") : [measure];
  const chosen = names.map((name) => [name, series[name]]);
  const length = Math.min(count, ...chosen.map(([, one]) => one.readings.buckets.length));
  return Array.from({ length }, (_, index) => {
    const samples = chosen.map(([name, one]) => sampleAt(name, one, index - length, now));
    return measure === "cost" ? costColumn(samples, view) : energyColumn(samples[0]);
  });
}

/** The sum of all columns and the mean of those that are over and known, or null where none is. */
export function summarise(columns) {
  const known = columns.filter(({ value }) => value !== null);
  const whole = known.filter(({ marks }) => !marks.has("running") && !marks.has("late"));
  return { total: known.length ? sum(known) : null, mean: whole.length ? sum(whole) / whole.length : null };
}

/** What one energy came to in the bucket that stands so many places before the end. */
function sampleAt(name, { readings, costs }, index, now) {
  const bucket = readings.buckets.at(index);
  const [start, end] = [Date.parse(bucket.start), Date.parse(bucket.end)];
  const collectedTo = readings.collectedTo ? Date.parse(readings.collectedTo) : 0;
  const running = now < end;
  const late = !running && end > collectedTo && now - end < LATE_WINDOW;
  const marks = new Set();
  if (running) marks.add("running");
  else if (late) marks.add("late");
  else if (bucket.quality === "MISSING") marks.add("missing");
  else if (bucket.quality === "PARTIAL") marks.add("gaps");
  if (bucket.estimated > 0) marks.add("estimated");
  return { name, start, end, value: bucket.value, unit: readings.unit, marks, cost: costs?.buckets.at(index) ?? null };
}

function energyColumn({ name, start, end, value, unit, marks }) {
  return { start, end, parts: value === null ? [] : [[name, value]], value, marks, unit };
}

function costColumn(samples, view) {
  const priced = samples.filter(({ cost }) => cost && cost.energy !== null);
  const parts = priced.map(({ name, cost }) => [name, Number(cost.energy) / PENCE]);
  const standing = samples.reduce((total, { cost }) => total + Number(cost?.standingCharge ?? 0), 0) / PENCE;
  // The charge of a day belongs to no hour of it.
  if (view !== "hours" && parts.length > 0 && standing > 0) parts.push(["standing", standing]);
  const value = parts.length ? parts.reduce((total, [, part]) => total + part, 0) : null;
  const marks = new Set(samples.flatMap((one) => [...one.marks]));
  if (samples.some(({ cost }) => Number(cost?.unpriced ?? 0) > 0)) marks.add("unpriced");
  if (value !== null && marks.delete("missing")) marks.add("gaps");
  if (value === null && !marks.has("running") && !marks.has("late")) marks.add("missing");
  return { start: samples[0].start, end: samples[0].end, parts, value, marks, unit: "GBP" };
}

function sum(columns) {
  return columns.reduce((total, { value }) => total + value, 0);
}
