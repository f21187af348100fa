/** Finds the known name that a wrong one probably means. */

/**
 * Return the nearest of the names, or null if none is near.
 * @param {string} wrong
 * @param {Iterable<string>} names
 * @returns {string | null}
 */
export function nearestName(wrong, names) {
  let best = null;
  // Up to two letters may differ in a long name, one in a short one.
  let bestDistance = Math.min(3, Math.floor(wrong.length / 3) + 1) + 0.5;
  const lower = wrong.toLowerCase();
  for (const name of names) {
    if (Math.abs(name.length - wrong.length) > 3) continue;
    const other = name.toLowerCase();
    const distance = lower === other ? 0.25 : editDistance(lower, other);
    if (distance < bestDistance) [best, bestDistance] = [name, distance];
  }
  return best;
}

/**
 * Return how many letters are inserted, removed, replaced or swapped with the next one.
 * @param {string} one
 * @param {string} other
 */
function editDistance(one, other) {
  let before = /** @type {number[]} */ ([]);
  let previous = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const replaced = previous[column - 1] + (one[row - 1] === other[column - 1] ? 0 : 1);
      let cost = Math.min(replaced, previous[column] + 1, current[column - 1] + 1);
      const isSwap = row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (isSwap) cost = Math.min(cost, before[column - 2] + 1);
      current.push(cost);
    }
    [before, previous] = [previous, current];
  }
  return previous[other.length];
}
