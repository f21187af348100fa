/** From a home's resources to what the display tells: power, today's amounts and the series of the charts. */

const HUNDRED_PENCE = 100;

/**
 * Series are lists of `{ start, end, value }`, times in milliseconds; a null value is one that is not known. Whatever
 * is added up from a value that is not known is not known either.
 */
export function overview(resources) {
  const find = (classifier) => resources.find((resource) => resource.classifier === classifier);
  const electricity = find("electricity.consumption");
  const gas = find("gas.consumption");
  const exported = find("electricity.export");
  const costs = [find("electricity.consumption.cost"), find("gas.consumption.cost")].filter(Boolean);
  const standingCharge = standingChargeOf([electricity, gas].filter(Boolean));

  return {
    power: powerOf(electricity?.current),
    rate: rateOf(electricity),
    exports: Boolean(exported),
    hasGas: Boolean(gas),
    hasCost: costs.length > 0,
    standingChargeIncluded: standingCharge !== null,
    day: {
      energy: added([electricity], "day"),
      cost: pounds(added(costs, "day")),
    },
    week: {
      energy: added([electricity], "week"),
      gas: added([gas], "week"),
      exported: added([exported], "week"),
      cost: pounds(added(costs, "week"), standingCharge ?? 0),
    },
  };
}

/** Power from a reading `{ field, unit, at, value }`, or null if it is a reading of something else. */
export function powerOf(reading) {
  if (reading?.field !== "POWER") return null;
  return { watts: reading.unit === "kW" ? reading.value * 1000 : reading.value, at: Date.parse(reading.at) };
}

/** The value of the day that it is now; null too when the newest day of the series is over. */
export function today(week, now) {
  const last = week.at(-1);
  return last && now < last.end ? last.value : null;
}

function rateOf(resource) {
  const rate = resource?.currentRates?.rate ?? null;
  return rate === null ? null : Number(rate) / HUNDRED_PENCE;
}

function standingChargeOf(resources) {
  if (resources.length === 0 || resources.some((resource) => !resource.currentRates)) return null;
  return resources.reduce((sum, resource) => sum + Number(resource.currentRates.standingCharge), 0);
}

function added(resources, range) {
  const [first, ...others] = resources.filter(Boolean).map((resource) => resource[range]);
  return (first ?? []).map(({ start, end, value }, index) => ({
    start: Date.parse(start),
    end: Date.parse(end),
    value: others.reduce((sum, buckets) => plus(sum, buckets[index].value), value),
  }));
}

function pounds(series, penceEach = 0) {
  return series.map((bucket) => ({
    ...bucket,
    value: bucket.value === null ? null : (bucket.value + penceEach) / HUNDRED_PENCE,
  }));
}

function plus(one, other) {
  return one === null || other === null ? null : one + other;
}
