/** Drawing of a QR code from its modules. */

/** The light border that scanners need around a code, in modules (ISO/IEC 18004). */
export const QUIET_ZONE = 4;

const SVG = "http://www.w3.org/2000/svg";

/**
 * Return the path of the dark modules. Each run of a row is one rectangle of height 1, so a code has few of them and no
 * gaps between neighbours.
 * @param {string[]} rows  Texts of 0 and 1.
 * @returns {string}
 */
export function darkPath(rows) {
  return rows
    .flatMap((row, y) =>
      [...row.matchAll(/1+/g)].map(
        ({ index, 0: { length } }) => `M${index + QUIET_ZONE} ${y + QUIET_ZONE}h${length}v1h-${length}z`,
      ),
    )
    .join("");
}

/**
 * Return the view box of a code with its border.
 * @param {string[]} rows
 * @returns {string}
 */
export function viewBox(rows) {
  const size = rows.length + 2 * QUIET_ZONE;
  return `0 0 ${size} ${size}`;
}

/**
 * Create the image of a code.
 * @param {string[]} rows
 * @param {string} label  What the code is, for people who do not see it.
 * @returns {SVGSVGElement}
 */
export function drawQrCode(rows, label) {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", darkPath(rows));
  svg.setAttribute("viewBox", viewBox(rows));
  svg.setAttribute("shape-rendering", "crispEdges");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  svg.append(path);
  return svg;
}
