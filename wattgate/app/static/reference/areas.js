/** The areas of the interface by tag, in the groups and in the order in which the page shows them. */

/** @import { Operation } from "./openapi.js" */

/** @typedef {{ tag: string, name: string, operations: Operation[] }} AreaOperations */
/** @typedef {{ name: string, areas: AreaOperations[] }} AreaGroupOperations */

/** @type {Record<string, Record<string, string>>} */
const GROUPS = {
  "Homes and readings": {
    virtualentity: "Homes",
    vetype: "Home types",
    vesys: "Home statistics",
    resource: "Resources and readings",
    readings: "Readings in bulk",
    resourcetype: "Resource types",
  },
  Devices: {
    device: "Devices",
    devicetype: "Device types",
    discover: "Discovery",
    eligibility: "Eligibility",
  },
  People: {
    auth: "Login",
    register: "Registration",
    user: "Users",
    account: "Accounts",
    accountprofile: "Account profiles",
    accountsession: "Account sessions",
    useraction: "User actions",
    useractiontype: "User action types",
  },
  Messages: {
    alert: "Alerts",
    alerttype: "Alert types",
    template: "Alert templates",
    notification: "Notifications",
    prompt: "Prompts",
    prompttype: "Prompt types",
    promptuser: "User prompts",
    webhook: "Webhooks",
  },
  "Content and terms": {
    content: "Content",
    languagecontent: "Content by language",
    faq: "Questions and answers",
    supportdetails: "Support details",
    termsconditions: "Terms and conditions",
    termsconditionsuser: "Responses to terms",
  },
  Flexibility: { dfs: "Demand flexibility" },
};
/** The group of tags that have no group above. */
const OTHER_GROUP = "More";

/**
 * Return the operations by group and area. Areas without operations are left out; unknown tags come last.
 * @param {Operation[]} operations
 * @returns {AreaGroupOperations[]}
 */
export function groupOperations(operations) {
  /** @type {Map<string, Operation[]>} */
  const byTag = new Map();
  for (const operation of operations) byTag.set(operation.area, [...(byTag.get(operation.area) ?? []), operation]);
  const known = Object.entries(GROUPS).map(([name, names]) => ({ name, areas: areasOf(names, byTag) }));
  const unknown = Object.fromEntries([...byTag.keys()].filter((tag) => !isKnown(tag)).map((tag) => [tag, tag]));
  return [...known, { name: OTHER_GROUP, areas: areasOf(unknown, byTag) }].filter(({ areas }) => areas.length > 0);
}

/**
 * @param {Record<string, string>} names  By tag.
 * @param {Map<string, Operation[]>} byTag
 * @returns {AreaOperations[]}
 */
function areasOf(names, byTag) {
  return Object.entries(names).flatMap(([tag, name]) => {
    const operations = byTag.get(tag);
    return operations ? [{ tag, name, operations }] : [];
  });
}

/** @param {string} tag */
function isKnown(tag) {
  return Object.values(GROUPS).some((names) => tag in names);
}
