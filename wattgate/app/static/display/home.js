/** What is known of a home before its first frame: its energies, and the resources that tell them. */

const CLASSIFIERS = {
  electricity: "electricity.consumption",
  gas: "gas.consumption",
  exported: "electricity.export",
};

/** The ids of a home's resources by energy; an energy that it does not have is not there. */
export function resourceIdsByEnergy({ resources }) {
  const entries = Object.entries(CLASSIFIERS).map(([name, classifier]) => [
    name,
    resources.find((resource) => resource.classifier === classifier)?.resourceId,
  ]);
  return Object.fromEntries(entries.filter(([, id]) => id));
}
