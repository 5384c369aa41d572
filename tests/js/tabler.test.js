// A behaviour that a page names and that is not bundled does nothing, and no console says so.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";

const ATTRIBUTE = /data-bs-(?:toggle|dismiss|ride|spy|slide(?:-to)?)="([^"]*)"/g;
const SOURCES = ["templates/**/*.html", "static/js/**/*.js", "{finops,accounts,mcpserver,ingestion}/**/*.{html,py}"];

test("every behaviour that a page names is bundled, and no other", () => {
  const named = globSync(SOURCES).flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(ATTRIBUTE)].map(([, name]) => name),
  );
  const bundled = [...readFileSync("vendor/tabler.js", "utf8").matchAll(/bootstrap\/(\w+)"/g)].map(([, name]) => name);
  assert.deepEqual([...new Set(named)].sort(), bundled);
});
