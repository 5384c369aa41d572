"""Data exports: the cost of an account as FOCUS Parquet in its own bucket, on a schedule (docs/data-exports.md)."""
