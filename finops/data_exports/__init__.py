"""Data exports: the cost of an account as FOCUS Parquet in a bucket of its own, by a schedule (docs/data-exports.md, ADR 0070)."""
