"""Questions as people ask assistants, with right answers computed from the raw files; docs/evaluation.md has the record."""
