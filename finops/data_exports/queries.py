"""The state of data exports, for the list and an export's page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Max, OuterRef, Subquery, Sum

from accounts.models import Account
from finops.allocation.models import CostTag
from finops.data_exports.columns import cost_tag_columns
from finops.data_exports.destination import Destination
from finops.data_exports.destinations import destinations
from finops.data_exports.models import UNFINISHED_STATUSES, DataExport, DataExportRun
from finops.lib import clock

RUNS_SHOWN = 50


@dataclass(frozen=True)
class ExportState:
    """An export with its newest run. `status`: healthy, running, failing, paused, deleting."""

    export: DataExport
    run: DataExportRun | None
    rows: int
    bytes: int

    @property
    def status(self) -> str:
        if self.export.removal_requested_at:
            return "deleting"
        if self.run is not None and self.run.status in UNFINISHED_STATUSES:
            return "running"
        if self.export.paused_at:
            return "paused"
        return "failing" if self.export.failures else "healthy"

    @property
    def cancelable_run(self) -> DataExportRun | None:
        """The unfinished run that is not canceled."""
        run = self.run
        if run is None or self.status != "running" or run.cancel_requested_at is not None:
            return None
        return run

    @property
    def is_due(self) -> bool:
        return self.export.next_run_at <= clock.now()

    @property
    def destination(self) -> Destination[Any] | None:
        return destinations().get(self.export.destination)

    @property
    def icon(self) -> str:
        return self.destination.icon if self.destination else "bucket"

    @property
    def title(self) -> str:
        return self.destination.title if self.destination else self.export.destination

    @property
    def place(self) -> str:
        """Bucket and folder, as people name them."""
        config = self.export.config
        parts = [str(config.get(name) or "") for name in ("bucket", "container", "folder", "path", "prefix")]
        return "/".join([*(part.strip("/") for part in parts if part), self.export.name])

    @property
    def last_error(self) -> str:
        """The last error, while the export fails."""
        return self.run.error if self.run is not None and self.export.failures else ""


def export_states(account: Account) -> list[ExportState]:
    """The state of every export of the account, by name. Two queries."""
    newest = DataExportRun.objects.filter(export=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    exports = list(
        DataExport.objects.filter(account=account).annotate(
            newest_run=Subquery(newest), row_count=Sum("months__rows"), byte_count=Sum("months__bytes")
        )
    )
    runs = DataExportRun.objects.defer("months").in_bulk([each.newest_run for each in exports])
    return [
        ExportState(each, runs.get(each.newest_run), each.row_count or 0, each.byte_count or 0)
        for each in exports
    ]


def export_state(export: DataExport) -> ExportState:
    """The state of one export. Two queries."""
    run = DataExportRun.objects.filter(export=export).first()
    totals = export.months.aggregate(rows=Sum("rows"), bytes=Sum("bytes"), written=Max("written_at"))
    return ExportState(export, run, totals["rows"] or 0, totals["bytes"] or 0)


def cost_tag_names(account: Account) -> dict[str, str]:
    """The columns of the account's cost tags, by their keys. One query."""
    return cost_tag_columns(CostTag.objects.filter(account=account).values_list("key", flat=True))
