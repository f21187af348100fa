/** ESLint for the browser pages and the scripts of the tests and benchmarks. Types and names are checked by tsc. */

import js from "@eslint/js";

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
    rules: { "no-restricted-properties": ["error", { property: "innerHTML", message: "Add text as text: shared/dom.js." }] },
  },
  {
    files: ["tests/javascript/**"],
    rules: { "max-lines-per-function": "off" }, // a group of tests is one function
  },
];
