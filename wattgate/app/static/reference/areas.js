/** The areas of the interface: the tags of the document, in the groups and in the order in which the page shows them. */

/** @import { Operation, Reference } from "./openapi.js" */

/** @typedef {{ tag: string, id: string, name: string, description: string, operations: Operation[] }} AreaOperations */
/** @typedef {{ name: string, areas: AreaOperations[] }} AreaGroupOperations */

/** The group of tags that the document puts in no group. */
const OTHER_GROUP = "Other operations";

/**
 * Return the operations by group and area. Areas without operations are left out; tags without a group come last.
 * @param {Pick<Reference, "operations" | "tags" | "tagGroups">} reference
 * @returns {AreaGroupOperations[]}
 */
export function groupOperations({ operations, tags, tagGroups }) {
  /** @type {Map<string, Operation[]>} */
  const byTag = new Map();
  for (const operation of operations) byTag.set(operation.area, [...(byTag.get(operation.area) ?? []), operation]);
  const grouped = new Set(tagGroups.flatMap((group) => group.tags));
  const others = [...byTag.keys()].filter((tag) => !grouped.has(tag));
  return [...tagGroups, { name: OTHER_GROUP, tags: others }]
    .map((group) => ({ name: group.name, areas: group.tags.flatMap((tag) => areaOf(tag, byTag.get(tag), tags[tag])) }))
    .filter(({ areas }) => areas.length > 0);
}

/**
 * @param {string} tag
 * @param {Operation[] | undefined} operations
 * @param {Reference["tags"][string] | undefined} described
 * @returns {AreaOperations[]}
 */
function areaOf(tag, operations, described) {
  if (!operations) return [];
  const id = `area-${tag.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`;
  return [{ tag, id, name: described?.name ?? tag, description: described?.description ?? "", operations }];
}
