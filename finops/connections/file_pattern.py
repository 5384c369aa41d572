"""Patterns of the paths of cost files, with placeholders: `focus/{year}/{month}/*.csv.gz`. Pure.

`*` matches any text without a slash, `**` any folders, `{year}` four digits, `{month}` one or two, `{yyyymm}` six with or without a
dash or underscore between. `{day}` and `{hour}` match one or two digits: they mark files that each repeat the month so far, of
which only the newest are read. `BILLING_PERIOD=2026-05` in a path gives the month without a placeholder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

from finops.lib.errors import UserError

MAX_PATTERN: Final = 300
_PARTS: Final = {
    "**/": r"(?:[^/]+/)*",
    "**": r".*",
    "*": r"[^/]*",
    "?": r"[^/]",
    "{year}": r"(?P<year>[0-9]{4})",
    "{month}": r"(?P<month>[0-9]{1,2})",
    "{yyyymm}": r"(?P<yyyymm>[0-9]{4}[-_]?[0-9]{2})",
    "{day}": r"(?P<day>[0-9]{1,2})",
    "{hour}": r"(?P<hour>[0-9]{1,2})",
}
_TOKEN: Final = re.compile(r"\*\*/|\*\*|\*|\?|\{[a-z]+\}|[^*?{]+|.", re.DOTALL)
_PERIOD: Final = re.compile(
    r"(?:^|/)billing_period=([0-9]{4})-?([0-9]{2})(?:-[0-9]{2})?(?:/|$)", re.IGNORECASE
)


@dataclass(frozen=True)
class FilePattern:
    """A pattern of keys. `has_month`: it has placeholders of a month; without them BILLING_PERIOD in a key may give the month."""

    text: str
    _expression: re.Pattern[str]

    @classmethod
    def parse(cls, text: str, *, field: str = "pattern") -> FilePattern:
        """Parse a pattern. Raises UserError for an unknown or repeated placeholder, and for a year without a month or
        a month without a year."""
        if not text or len(text) > MAX_PATTERN or text.startswith("/") or ".." in text.split("/"):
            raise UserError(
                f"{field}: enter a path below the folder of at most {MAX_PATTERN} characters, such as '**/*.csv.gz'.",
                field=field,
            )
        expression = ""
        for token in _TOKEN.findall(text):
            if token.startswith("{") and (token not in _PARTS or token in text.partition(token)[2]):
                raise UserError(
                    f"{field}: {token} is not a placeholder, or is used twice. Use {{year}} and {{month}}, or {{yyyymm}}, once.",
                    field=field,
                )
            expression += _PARTS.get(token) or re.escape(token)
        if ("{year}" in text) != ("{month}" in text) or ("{year}" in text and "{yyyymm}" in text):
            raise UserError(f"{field}: use {{year}} together with {{month}}, or {{yyyymm}}.", field=field)
        pattern = cls(text, re.compile(expression))
        if "{day}" in text and not pattern.has_month:
            raise UserError(
                f"{field}: use {{day}} together with {{year}} and {{month}}, or {{yyyymm}}.", field=field
            )
        if "{hour}" in text and "{day}" not in text.partition("{hour}")[0]:
            raise UserError(f"{field}: use {{hour}} after {{day}}.", field=field)
        return pattern

    @property
    def has_month(self) -> bool:
        return "{month}" in self.text or "{yyyymm}" in self.text

    @property
    def has_day(self) -> bool:
        return "{day}" in self.text

    def snapshot_of(self, key: str) -> tuple[str, tuple[int, int]]:
        """Return the series and the time of the snapshot with a matching key.

        The series is the text before the day, which names an account or a report; the time is day and hour. "" and
        zeros for a pattern without a day.
        """
        match = self._expression.fullmatch(key)
        groups = match.groupdict() if match else {}
        if match is None or not self.has_day:
            return "", (0, 0)
        return key[: match.start("day")], (int(groups["day"]), int(groups.get("hour") or 0))

    def matches(self, key: str) -> bool:
        """Return whether the key matches. Hidden files never do, nor names with a leading underscore, which mark a finished job."""
        return not key.rpartition("/")[2].startswith((".", "_")) and bool(self._expression.fullmatch(key))

    def month_of(self, key: str) -> date | None:
        """Return the month in a matching key; None if the key has no month or an invalid one."""
        match = self._expression.fullmatch(key)
        groups = match.groupdict() if match else {}
        if digits := re.sub("[-_]", "", groups.get("yyyymm") or ""):
            return _month(digits[:4], digits[4:])
        if groups.get("year"):
            return _month(groups["year"], groups["month"])
        period = _PERIOD.search(key)
        return _month(*period.groups()) if period else None


def _month(year: str, month: str) -> date | None:
    try:
        return date(int(year), int(month), 1)
    except ValueError:
        return None
