"""The bill that each database of the tests has."""

from __future__ import annotations

Line = tuple[str, str, str | None, str, str]
"""Billed and effective cost, billing period, charge period, service."""

ROWS: list[Line] = [
    ("12.340000000000000001", "10", "2026-05-01T00:00:00Z", "2026-05-03T00:00:00Z", "Storage"),
    ("0.000000000000000001", "0.5", "2026-05-01T00:00:00Z", "2026-05-04T00:00:00Z", "Storage"),
    ("-3.5", "-3.5", "2026-05-01T00:00:00Z", "2026-05-04T00:00:00Z", "Compute"),
    ("100", "99.99", "2026-06-01T00:00:00Z", "2026-06-02T00:00:00Z", "Compute"),
    # Of July in Berlin, where the month begins two hours before it does in UTC.
    ("7", "7", "2026-06-30T22:00:00Z", "2026-07-01T10:00:00Z", "Compute"),
]
