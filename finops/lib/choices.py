"""The options that the fields of query forms offer, with their labels."""

from __future__ import annotations

PERIODS = [
    ("today", "Today"),
    ("yesterday", "Yesterday"),
    ("last_7_days", "Last 7 days"),
    ("last_30_days", "Last 30 days"),
    ("last_90_days", "Last 90 days"),
    ("last_week", "Last week"),
    ("month_to_date", "Month to date"),
    ("last_month", "Last month"),
    ("last_3_months", "Last 3 months"),
    ("last_6_months", "Last 6 months"),
    ("last_12_months", "Last 12 months"),
    ("last_quarter", "Last quarter"),
    ("quarter_to_date", "Quarter to date"),
    ("year_to_date", "Year to date"),
]
GRANULARITIES = [("none", "Total only"), ("day", "By day"), ("week", "By week"), ("month", "By month")]
TOPS = [(count, f"Top {count}") for count in (5, 10, 20, 50)]
