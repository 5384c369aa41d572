"""Error messages of the push endpoint for invalid events."""

from __future__ import annotations

CUSTOMER = "customer_id must be a non-empty string up to 255 characters"
METRIC = "metric must be a non-empty string up to 100 characters"
NUMBER = "quantity must be a number"
RANGE = "quantity must be below 10^20 in size, rounded to 12 decimal places"
TIMESTAMP = "timestamp must be a parseable date"
DIMENSIONS = "dimensions must be an object of string values"
UNIT = "unit must be a string"
NAME = "customer_name must be a string"
OBJECT = "event must be an object"
