"""Writes on cost sources, their imports and the account's cost view. The caller checks permissions."""

from finops.costs.services.claims import ask_to_cancel, cancel_abandoned_syncs, check_import_limit
from finops.costs.services.column_mappings import (
    remove_column_mapping,
    save_column_mapping,
    waiting_for_mapping,
)
from finops.costs.services.completeness import refresh_completeness, refresh_if_due
from finops.costs.services.cost_view import change_cost_view
from finops.costs.services.files import remove_forgotten_uploads
from finops.costs.services.imports import (
    NeedsReview,
    due_imports,
    import_files,
    queue_import,
    retry_import,
    run_import,
)
from finops.costs.services.mapping_samples import keep_sample, sample_file, store_sample
from finops.costs.services.overlaps import dismiss_overlap, find_due_overlaps
from finops.costs.services.reviews import (
    cancel_import,
    change_import_review,
    confirm_import,
    discard_forgotten_imports,
    discard_import,
)
from finops.costs.services.sources import (
    change_settle_days,
    create_cost_source,
    delete_cost_source,
    rename_cost_source,
)

__all__ = [
    "NeedsReview",
    "ask_to_cancel",
    "cancel_abandoned_syncs",
    "cancel_import",
    "change_cost_view",
    "change_import_review",
    "change_settle_days",
    "check_import_limit",
    "confirm_import",
    "create_cost_source",
    "delete_cost_source",
    "discard_forgotten_imports",
    "discard_import",
    "dismiss_overlap",
    "due_imports",
    "find_due_overlaps",
    "import_files",
    "keep_sample",
    "queue_import",
    "refresh_completeness",
    "refresh_if_due",
    "remove_column_mapping",
    "remove_forgotten_uploads",
    "rename_cost_source",
    "retry_import",
    "run_import",
    "sample_file",
    "save_column_mapping",
    "store_sample",
    "waiting_for_mapping",
]
