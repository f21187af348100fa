/** Marks the area at the top of the window in the sidebar while the reader scrolls. */

/** @import { Area } from "./area.js" */

/** The part of the window in which an area counts as current: from 15 % to 20 % of its height. */
const CURRENT_MARGIN = "-15% 0px -80% 0px";

/**
 * Mark the current area from now on.
 * @param {Area[]} areas
 */
export function markCurrentArea(areas) {
  const bySection = new Map(areas.map((area) => [/** @type {Element} */ (area.section), area]));
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const area = bySection.get(target);
        area?.mark(isIntersecting);
        if (area && isIntersecting) scrollSidebarTo(area.link);
      }
    },
    { rootMargin: CURRENT_MARGIN },
  );
  for (const section of bySection.keys()) observer.observe(section);
}

/**
 * Scroll the sidebar to a link. `scrollIntoView` would scroll the page too.
 * @param {HTMLElement} link
 */
function scrollSidebarTo(link) {
  const frame = link.closest(".areas");
  if (!frame) return;
  const { top, bottom } = link.getBoundingClientRect();
  const bounds = frame.getBoundingClientRect();
  if (top < bounds.top) frame.scrollTop -= bounds.top - top;
  if (bottom > bounds.bottom) frame.scrollTop += bottom - bounds.bottom;
}
