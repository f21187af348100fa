/**
 * Return what is wrong with the geometry of the page as it is shown now, as a list of sentences.
 *
 * The boxes of texts are those of their ink: the line box of a text may overlap another one without harm.
 *
 * @param {{ scrolls: boolean, coarse: boolean, cut: string }} options
 *   `scrolls` allows vertical scrolling. `coarse` requires targets for fingers. `cut` selects the elements whose text may
 *   end in an ellipsis.
 */
({ scrolls, coarse, cut }) => {
  const MIN_TARGET = 44;
  const MIN_TEXT = 11;
  const TARGETS = "button, select, a[href], label, input:not([type=radio], [type=checkbox]), summary";
  const canvas = document.createElement("canvas").getContext("2d");
  const problems = [];
  const shown = (element) =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !element.closest(".visually-hidden");
  const describe = (element) => `${element.localName}.${[...element.classList].join(".")}`;
  const meet = (a, b, slack) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > slack &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > slack;
  const within = (inner, outer, slack) =>
    inner.left >= outer.left - slack && inner.right <= outer.right + slack &&
    inner.top >= outer.top - slack && inner.bottom <= outer.bottom + slack;

  const inkBoxes = (node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    const style = getComputedStyle(node.parentElement);
    canvas.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const size = canvas.measureText(node.data.trim());
    const clip = node.parentElement.closest(cut)?.getBoundingClientRect();
    const full = size.fontBoundingBoxAscent + size.fontBoundingBoxDescent;
    return [...range.getClientRects()].filter(({ width }) => width > 0).map((box) => {
      const scale = box.height / full;
      const baseline = box.top + size.fontBoundingBoxAscent * scale;
      return {
        text: node.data.trim(), node, element: node.parentElement, size: parseFloat(style.fontSize) * scale,
        left: box.left, right: clip ? Math.min(box.right, clip.right) : box.right,
        top: baseline - size.actualBoundingBoxAscent * scale, bottom: baseline + size.actualBoundingBoxDescent * scale,
      };
    });
  };

  const { scrollWidth, clientWidth, scrollHeight, clientHeight } = document.documentElement;
  if (scrollWidth > clientWidth) problems.push(`the page is ${scrollWidth - clientWidth} px too wide`);
  if (!scrolls && scrollHeight > clientHeight) problems.push(`the page is ${scrollHeight - clientHeight} px too high`);
  const screen = { left: 0, top: 0, right: clientWidth, bottom: scrolls ? scrollHeight : clientHeight };

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.data.trim() && !node.parentElement.closest("option, script") && shown(node.parentElement)) {
      texts.push(...inkBoxes(node));
    }
  }
  texts.forEach((one, index) => {
    for (const other of texts.slice(index + 1)) {
      if (one.node !== other.node && meet(one, other, 0.6)) problems.push(`the texts "${one.text}" and "${other.text}" collide`);
    }
    if (one.size < MIN_TEXT - 0.05) problems.push(`"${one.text}" has ${one.size.toFixed(1)} px`);
    const inPage = { ...one, top: one.top + scrollY, bottom: one.bottom + scrollY };
    if (!one.element.closest(cut) && !within(inPage, screen, 0.5)) problems.push(`"${one.text}" is outside the screen`);
    for (let box = one.element; box; box = box.parentElement) {
      if (box instanceof SVGElement && !(box instanceof SVGSVGElement)) continue;
      const { overflowX, overflowY } = getComputedStyle(box);
      const isCard = box.matches(".card, dialog");
      if (overflowX === "visible" && overflowY === "visible" && !isCard) continue;
      if (one.element.closest(cut) || within(one, box.getBoundingClientRect(), 1)) continue;
      problems.push(`"${one.text}" is outside ${describe(box)}`);
    }
  });
  for (const element of document.querySelectorAll("body *")) {
    const isClipped = element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX === "hidden";
    if (isClipped && shown(element) && !element.closest(cut)) problems.push(`${describe(element)} cuts its text`);
  }

  const targets = [...document.querySelectorAll(TARGETS)].filter(shown);
  const boxes = targets.map((element) => element.getBoundingClientRect());
  targets.forEach((element, index) => {
    const { width, height } = boxes[index];
    const label = element.getAttribute("aria-label") ?? element.textContent.trim().replace(/\s+/g, " ");
    const small = coarse && (width < MIN_TARGET - 0.1 || height < MIN_TARGET - 0.1);
    if (small) problems.push(`the target "${label}" has ${width.toFixed(0)} x ${height.toFixed(0)} px`);
    targets.slice(index + 1).forEach((other, offset) => {
      const nested = element.contains(other) || other.contains(element);
      if (!nested && meet(boxes[index], boxes[index + 1 + offset], 0.6)) {
        problems.push(`the targets "${label}" and ${describe(other)} collide`);
      }
    });
    // A target that covers the whole of its parent makes the parent the target.
    const cover = within(element.parentElement.getBoundingClientRect(), boxes[index], 2) ? element.parentElement : element;
    for (const text of texts) {
      if (!cover.contains(text.element) && meet(boxes[index], text, 0.6)) {
        problems.push(`the text "${text.text}" is over the target "${label}"`);
      }
    }
  });

  const needle = document.querySelector(".gauge .needle");
  if (needle && shown(needle)) {
    const matrix = needle.getScreenCTM();
    const length = needle.getTotalLength();
    for (let step = 0; step <= 40; step += 1) {
      const { x, y } = needle.getPointAtLength((length * step) / 40).matrixTransform(matrix);
      const point = { left: x - 1, right: x + 1, top: y - 1, bottom: y + 1 };
      const hit = texts.find((text) => meet(point, text, 0));
      if (hit) {
        problems.push(`the needle covers "${hit.text}"`);
        break;
      }
    }
  }
  return [...new Set(problems)];
}
