import js from "@eslint/js";
import globals from "globals";

const libraries = { echarts: "readonly", GridStack: "readonly", htmx: "readonly", Sortable: "readonly" };

export default [
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      curly: ["error", "multi-line"],
      eqeqeq: "error",
      "max-len": ["error", { code: 120 }],
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "prefer-template": "error",
    },
  },
  {
    files: ["static/js/**"],
    ignores: ["static/js/lib/**"],
    languageOptions: { globals: { ...globals.browser, ...libraries } },
  },
  { files: ["mcp_app/**"], languageOptions: { globals: globals.browser } },
  { files: ["vendor/mcp-app.js"], languageOptions: { globals: globals.nodeBuiltin } },
  // No document and no window there: Node's tests import these modules.
  { files: ["static/js/lib/**"], languageOptions: { globals: globals["shared-node-browser"] } },
  { files: ["static/js/theme.js"], languageOptions: { sourceType: "script" } },
  { files: ["clients/node/**", "tests/clients/**"], languageOptions: { globals: globals.nodeBuiltin } },
  { files: ["tests/js/**"], languageOptions: { globals: globals.nodeBuiltin } },
];
