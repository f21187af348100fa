/** Facts about a home that are known before its first frame. */

/** @import { Home, ResourceIds } from "../shared/gateway.js" */

const CLASSIFIERS = {
  electricity: "electricity.consumption",
  gas: "gas.consumption",
  exported: "electricity.export",
};

/**
 * Return the ids of a home's resources by energy. Energies that the home does not measure are left out.
 * @param {Pick<Home, "resources">} home
 * @returns {ResourceIds}
 */
export function resourceIdsByEnergy({ resources }) {
  /** @type {ResourceIds} */
  const ids = {};
  for (const [name, classifier] of Object.entries(CLASSIFIERS)) {
    const resource = resources.find((one) => one.classifier === classifier);
    if (resource) ids[name] = resource.resourceId;
  }
  return ids;
}

/**
 * Return the energy that a resource measures: electricity, gas or exported. Null if it is another quantity.
 * @param {string | null} classifier
 * @returns {keyof typeof CLASSIFIERS | null}
 */
export function energyOf(classifier) {
  const names = /** @type {(keyof typeof CLASSIFIERS)[]} */ (Object.keys(CLASSIFIERS));
  return names.find((name) => CLASSIFIERS[name] === classifier) ?? null;
}

/**
 * Return the time zone of a home's days. Homes without one use that of the device.
 * @param {Pick<Home, "timeZone">} home
 */
export function zoneOf({ timeZone }) {
  return timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
}
