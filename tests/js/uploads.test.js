import assert from "node:assert/strict";
import { test } from "node:test";

import { sizeError, uploadProgress, uploadResult } from "../../static/js/lib/uploads.js";

test("files may be as large together as the server takes", () => {
  assert.equal(sizeError([{ size: 600_000 }, { size: 400_000 }], 1_000_000), "");
  assert.equal(sizeError([], 1_000_000), "");
});

test("larger files are refused before they are sent", () => {
  assert.equal(
    sizeError([{ size: 1_500_000 }, { size: 700_000 }], 2_000_000),
    "The files have 2.2 MB; this server takes 2 MB at once.",
  );
});

test("progress never says 100 % too early", () => {
  assert.deepEqual(uploadProgress({ loaded: 999, total: 1000 }), { percent: 99, text: "99 % of 0 MB" });
  assert.deepEqual(uploadProgress({ loaded: 5e6, total: 5e6 }), { percent: 100, text: "100 % of 5 MB" });
});

test("an import that started has a page", () => {
  assert.deepEqual(uploadResult(202, '{"url": "/a/acme/imports/7/"}'), { url: "/a/acme/imports/7/" });
});

test("errors of fields are told apart from those of the whole", () => {
  const errors = { uploads: ["This is not a FOCUS file."] };
  assert.deepEqual(uploadResult(422, JSON.stringify({ errors })), { fieldErrors: errors });
});

test("an error page is explained by its status", () => {
  assert.match(uploadResult(403, "<h1>Forbidden</h1>").message, /Reload the page/);
  assert.match(uploadResult(413, "").message, /exceed the upload limit/);
  assert.match(uploadResult(500, "<h1>Oops</h1>").message, /status 500.*Nothing was imported/);
});
