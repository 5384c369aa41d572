"""A question to a tool about one week, and its answer."""

from __future__ import annotations

from datetime import UTC, datetime

NOON = datetime(2026, 3, 18, 12, tzinfo=UTC)
WEEK = {"start_date": "2026-03-11", "end_date": "2026-03-17"}
