/** Lists whose items are built again when they change. */

/**
 * Replace the items of a list. The focus stays on its part of an item; if that is gone, it moves to the list.
 * @param {HTMLElement} list
 * @param {HTMLElement[]} items
 * @param {string} key  The name of the data attribute that identifies an item.
 */
export function replaceItems(list, items, key) {
  const focused = document.activeElement;
  const isInside = focused instanceof HTMLElement && focused !== list && list.contains(focused);
  const id = isInside ? focused.closest("li")?.dataset[key] : undefined;
  list.replaceChildren(...items);
  if (!isInside) return;
  const item = items.find(({ dataset }) => dataset[key] === id);
  const part = item?.querySelector(`.${focused.classList[0]}`);
  (part instanceof HTMLElement ? part : list).focus();
}
