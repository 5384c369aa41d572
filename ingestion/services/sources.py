"""Usage sources: the connections that usage comes in by."""

from __future__ import annotations

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from ingestion.models import UsageSource


@transaction.atomic
def create_usage_source(
    *, account: Account, actor: Actor, name: str, kind: str = UsageSource.Kind.PUSH.value
) -> UsageSource:
    """A new usage source, without a key. Raises ValidationError for a name that is empty, too long or taken."""
    source = UsageSource(account=account, name=name.strip(), kind=kind, created_by=actor.user)
    with account_scope(account):
        source.full_clean()
    source.save(force_insert=True)
    audit.record(
        account=account,
        actor=actor,
        action="usage_source.create",
        target=source.name,
        detail={"kind": source.kind},
    )
    return source


@transaction.atomic
def rename_usage_source(*, source: UsageSource, actor: Actor, name: str) -> None:
    """Call a source something else; its key and events stay. Raises ValidationError as on creating."""
    before, source.name = source.name, name.strip()
    with account_scope(source.account):
        source.full_clean()
    source.save(update_fields=["name"])
    audit.record(
        account=source.account,
        actor=actor,
        action="usage_source.rename",
        target=source.name,
        detail={"from": before, "to": source.name},
    )
