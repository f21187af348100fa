/** The areas of the interface by their tags, in the order and under the themes in which the page shows them. */

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
    auth: "Logging in",
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
    promptuser: "Prompts of users",
    webhook: "Webhooks",
  },
  "Content and terms": {
    content: "Content",
    languagecontent: "Content by language",
    faq: "Questions and answers",
    supportdetails: "Support details",
    termsconditions: "Terms and conditions",
    termsconditionsuser: "Answers to terms",
  },
  Flexibility: { dfs: "Demand flexibility" },
};
const OTHER_GROUP = "More";

/** Operations by theme and area: `[{ name, areas: [{ tag, name, operations }] }]`; unknown tags come last. */
export function groupOperations(operations) {
  const byTag = new Map();
  for (const operation of operations) {
    if (!byTag.has(operation.area)) byTag.set(operation.area, []);
    byTag.get(operation.area).push(operation);
  }
  const known = Object.entries(GROUPS).map(([group, names]) => ({ name: group, areas: areasOf(names, byTag) }));
  const unknown = Object.fromEntries([...byTag.keys()].filter((tag) => !isKnown(tag)).map((tag) => [tag, tag]));
  return [...known, { name: OTHER_GROUP, areas: areasOf(unknown, byTag) }].filter(({ areas }) => areas.length > 0);
}

function areasOf(names, byTag) {
  return Object.entries(names)
    .filter(([tag]) => byTag.has(tag))
    .map(([tag, name]) => ({ tag, name, operations: byTag.get(tag) }));
}

function isKnown(tag) {
  return Object.values(GROUPS).some((names) => tag in names);
}
