/** A note at a place of the text: documentation or a problem. It opens under the mouse, or at the caret by a key. */

import { find } from "../../shared/dom.js";

/** @import { CodeEditor } from "./code-editor.js" */

/** Milliseconds for which the mouse rests before the note opens. */
const REST = 350;

/**
 * @param {CodeEditor} editor
 * @param {(offset: number) => Node[]} describe  The content of the note. Empty where there is nothing to say.
 */
export function setUpHover(editor, describe) {
  const hint = find(document, "#hint");
  let timer = 0;
  const hide = () => {
    clearTimeout(timer);
    hint.hidden = true;
    editor.area.removeAttribute("aria-describedby");
  };
  /** @param {number} offset */
  const show = (offset) => {
    const content = describe(offset);
    if (!content.length) return;
    hint.replaceChildren(...content);
    hint.hidden = false;
    editor.area.setAttribute("aria-describedby", hint.id);
    const { left, top, bottom } = editor.boxOf(offset);
    const { offsetWidth, offsetHeight } = hint;
    hint.style.left = `${Math.max(4, Math.min(left, innerWidth - offsetWidth - 4))}px`;
    hint.style.top = `${bottom + offsetHeight + 8 < innerHeight ? bottom + 6 : top - offsetHeight - 6}px`;
  };
  editor.area.addEventListener("mousemove", ({ clientX, clientY }) => {
    hide();
    timer = setTimeout(() => {
      const offset = editor.offsetAt(clientX, clientY);
      if (offset !== null) show(offset);
    }, REST);
  });
  for (const event of ["mouseleave", "input", "scroll", "blur", "pointerdown"]) editor.area.addEventListener(event, hide);
  editor.area.addEventListener("keydown", (event) => {
    if (event.code === "Space" && event.ctrlKey && event.shiftKey) {
      event.preventDefault();
      show(editor.caret);
    } else if (!["Control", "Shift"].includes(event.key)) {
      if (event.key === "Escape" && !hint.hidden) event.preventDefault();
      hide();
    }
  });
}
