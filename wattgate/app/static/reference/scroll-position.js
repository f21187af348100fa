/** Follows the reader through the page: the sidebar marks the area that is at the top of the window. */

const UPPER_PART = "-15% 0px -80% 0px";

export function markCurrentArea(areas) {
  const bySection = new Map(areas.map((area) => [area.section, area]));
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const area = bySection.get(target);
        area.mark(isIntersecting);
        if (isIntersecting) scrollIntoSidebar(area.link);
      }
    },
    { rootMargin: UPPER_PART },
  );
  for (const section of bySection.keys()) observer.observe(section);
}

/** Scrolls the sidebar alone; `scrollIntoView` would move the page too. */
function scrollIntoSidebar(link) {
  const frame = link.closest(".areas");
  const { top, bottom } = link.getBoundingClientRect();
  const bounds = frame.getBoundingClientRect();
  if (top < bounds.top) frame.scrollTop -= bounds.top - top;
  if (bottom > bounds.bottom) frame.scrollTop += bottom - bounds.bottom;
}
