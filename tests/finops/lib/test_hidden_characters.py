"""What answers escape, compared with the Unicode properties that JavaScript knows and Python does not."""

from __future__ import annotations

import json
import subprocess

from finops.lib.sentences import HIDDEN_CHARACTERS, escape_hidden
from tests.conformance.node import NODE

HIDDEN_BY_UNICODE = r"""
const hidden = /[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB\u2800\u{1D159}]/u;
const found = [];
for (let point = 0; point <= 0x10ffff; point++) {
  if (hidden.test(String.fromCodePoint(point))) found.push(point);
}
console.log(JSON.stringify(found));
"""


def test_every_character_that_unicode_leaves_invisible_is_escaped_and_no_other() -> None:
    by_unicode = subprocess.run([NODE, "-e", HIDDEN_BY_UNICODE], capture_output=True, check=True, timeout=60)

    escaped_points = [point for point in range(0x110000) if HIDDEN_CHARACTERS.match(chr(point))]

    assert escaped_points == json.loads(by_unicode.stdout)
    assert len(escaped_points) > 4_000
    assert escape_hidden("a\ufe0f\U000e0141\u3164b") == r"a\ufe0f\udb40\udd41\u3164b"
