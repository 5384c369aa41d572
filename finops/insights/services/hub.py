"""Recommendations of AWS Cost Optimization Hub, brought by a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

import msgspec
from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from finops.costs.models import CostSource
from finops.insights.models import ImportedSaving
from finops.insights.savings.hub.parser import read_file
from finops.lib import clock
from finops.lib.errors import UserError


@dataclass(frozen=True)
class HubImport:
    """What a file brought. `problems` name the first rows that were left out."""

    kept: int
    replaced: int
    left_out: int
    problems: list[str]


def import_recommendations(*, source: CostSource, actor: Actor, file: BinaryIO) -> HubImport:
    """The file's recommendations become all that the source has: AWS exports everything that is open each time.

    Raises UserError for a file that is no such export, or of which no row can be read: what the source has then stays."""
    hub_file = read_file(file)
    if hub_file.left_out and not hub_file.rows:
        raise UserError(f"No row of the file can be read. {hub_file.problems[0]}", field="file")
    now = clock.now()
    rows = [
        ImportedSaving(account=source.account, source=source, imported_at=now, **msgspec.structs.asdict(row))
        for row in hub_file.rows
    ]
    with transaction.atomic():
        # Two files at once: one after the other, and the source has one of them whole.
        CostSource.objects.select_for_update(no_key=True).get(pk=source.pk)
        replaced = ImportedSaving.objects.filter(source=source).delete()[0]
        ImportedSaving.objects.bulk_create(rows, batch_size=1_000)
        audit.record(
            account=source.account,
            actor=actor,
            action="savings_import.replace",
            target=source.name,
            detail={"kept": len(rows), "replaced": replaced, "left_out": hub_file.left_out},
        )
    return HubImport(len(rows), replaced, hub_file.left_out, hub_file.problems)
