"""Writes on cost sources, to which imports belong."""

from __future__ import annotations

from django.db import transaction
from django.db.models import RestrictedError

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs import dependants
from finops.costs.models import CostSource
from finops.costs.services.closed_months import restate_removed_source
from finops.costs.services.completeness import refresh_completeness
from finops.costs.services.currencies import refresh_currencies
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lib.errors import in_use_error
from finops.lib.sentences import truncate


@transaction.atomic
def create_cost_source(
    *, account: Account, name: str, actor: Actor, kind: str = CostSource.Kind.FOCUS.value
) -> CostSource:
    """Create a cost source. Raises ValidationError for a name that is empty, too long or taken."""
    source = CostSource(account=account, name=name.strip(), kind=kind, created_by=actor.user)
    with account_scope(account):
        source.full_clean()
    source.save(force_insert=True)
    audit.record(account=account, actor=actor, action="cost_source.create", target=source.name)
    return source


@transaction.atomic
def rename_cost_source(*, source: CostSource, name: str, actor: Actor) -> None:
    """Rename a source; its cost lines follow. Raises ValidationError as on creating."""
    before, source.name = source.name, name.strip()
    with account_scope(source.account):
        source.full_clean()
    source.save(update_fields=["name"])
    audit.record(
        account=source.account,
        actor=actor,
        action="cost_source.rename",
        target=source.name,
        detail={"from": before, "to": source.name},
    )


@transaction.atomic
def change_settle_days(*, source: CostSource, settle_days: int | None, actor: Actor) -> None:
    """Set the days until a day of the source is complete, 0 to 14; None: as learnt from imports, or the provider's.

    Applies from the next answer on. Raises ValidationError for another number.
    """
    before, source.settle_days = source.settle_days, settle_days
    if before == settle_days:
        return
    with account_scope(source.account):
        source.full_clean()
    source.save(update_fields=["settle_days"])
    audit.record(
        account=source.account,
        actor=actor,
        action="cost_source.change_settle_days",
        target=source.name,
        detail={"from": before, "to": settle_days},
    )
    refresh_completeness(source)


@transaction.atomic
def delete_cost_source(*, source: CostSource, actor: Actor) -> None:
    """Delete a source with all its cost lines and imports. Raises UserError that names the budgets that use it."""
    account = source.account
    segments.retire_source(account=account, kind=Kind.COST, source_id=source.pk)
    with account_scope(account):
        dependents = dependants.audit_detail(source)
        restate_removed_source(source)
        refresh_currencies(account)
        audit.record(
            account=account, actor=actor, action="cost_source.delete", target=source.name, detail=dependents
        )
        try:
            source.delete()
        except RestrictedError as error:
            names = sorted(map(str, error.restricted_objects))
            raise in_use_error(f"Source {truncate(source.name, 60)!r}", "budget", names) from error
