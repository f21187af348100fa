/** ESLint for the browser pages and the scripts of the tests and benchmarks. Types and names are checked by tsc. */

import js from "@eslint/js";

/** Words in a string or a template of the home display, except for the messages of errors, which nobody there reads. */
const TEXTS_IN_CODE = [
  "Literal[value=/\\p{L}{2,} +\\p{L}/u]:not(Property[key.name=class] > .value)",
  "Literal[value=/^\\p{Lu}\\p{Ll}+[.:!?…]?$/u]:not(Property > .key):not(BinaryExpression > .right)",
  "TemplateElement[value.raw=/\\p{L}{2,} +\\p{L}|\\p{L}{2,} +$|^ +\\p{L}{2,}/u]",
].map((selector) => ({
  selector: `${selector}:not(NewExpression *)`,
  message: "Take texts from texts.js, whose catalogues have them in all languages.",
}));

/** Names of the browser that Chrome 111, Safari 16.4 or Firefox 121 lacks. The lib of tsc has the names of the language. */
const TOO_NEW = ["canParse", "checkVisibility", "moveBefore", "setHTMLUnsafe", "showPopover", "startViewTransition"];

export default [
  { ignores: ["**/node_modules/", ".venv/", "docs/", "build/"] },
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "no-undef": "off", // tsc reports unknown names in the pages, and knows the globals of browsers
      "no-shadow": ["error", { allow: ["event"] }],
      "no-var": "error",
      "prefer-const": "error",
      "object-shorthand": "error",
      "prefer-arrow-callback": "error",
      eqeqeq: "error",
      curly: ["error", "multi-line"],
      "no-eval": "error",
      "no-implied-eval": "error",
      "max-lines": ["error", 400],
      "max-lines-per-function": ["error", 60],
    },
  },
  {
    files: ["wattgate/app/static/**"],
    languageOptions: { ecmaVersion: 2022 }, // the oldest browsers of docs/how-to/wall-display.md have no later syntax
    rules: {
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Add text as text: shared/dom.js." },
        ...TOO_NEW.map((name) => ({ property: name, message: "The oldest browsers of wall-display.md do not have it" })),
      ],
    },
  },
  {
    files: ["wattgate/app/static/display/**", "wattgate/app/static/pair/**"],
    ignores: [
      "wattgate/app/static/display/texts/**",
      "wattgate/app/static/display/subscription.js",
      "wattgate/app/static/display/*-requests.js",
      "wattgate/app/static/pair/requests.js",
    ],
    rules: { "no-restricted-syntax": ["error", ...TEXTS_IN_CODE] },
  },
  {
    files: ["tests/browser/**", "tests/javascript/**"],
    rules: { "max-lines-per-function": "off" }, // a group of tests is one function, as is what a page runs
  },
];
