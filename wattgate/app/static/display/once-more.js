/** A button that must be pressed twice: the first press asks, and the second one acts. */

/**
 * Act on the second press in a row. The question disappears when the button loses the focus.
 * @param {HTMLButtonElement} button
 * @param {string} question  Shown after the first press.
 * @param {() => void} act
 */
export function onceMore(button, question, act) {
  const label = button.textContent;
  let isAsked = false;
  button.addEventListener("click", () => {
    if (isAsked) act();
    else button.textContent = question;
    isAsked = !isAsked;
  });
  button.addEventListener("blur", () => {
    isAsked = false;
    button.textContent = label;
  });
}
