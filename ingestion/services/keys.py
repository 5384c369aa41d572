"""Usage keys of push sources (`accounts/source_keys.py`)."""

from __future__ import annotations

import dataclasses
from typing import Final

from accounts.models import Account
from accounts.source_keys import SourceCredential, SourceKeys
from finops.lake.storage import locks
from finops.lib.errors import UserError
from ingestion.models import UsageKey, UsageSource, UsageUpload

PREFIX: Final = "fuse_"


@dataclasses.dataclass(frozen=True, slots=True)
class PushCredential(SourceCredential):
    """A valid usage key: the account and the source of its events, with its settings."""

    kind = "usage"

    event_id_field: str = ""
    customer_attribute: str = ""


def end_pushes(*, account: Account, source_id: int | None = None) -> None:
    """Wait for running pushes and uploads of an account, or of one of its sources; later ones wait for the caller's
    transaction and are rejected once it has deleted the keys.

    Locks in the order of everything that ends usage, so that nothing deadlocks: the lake's (a void takes it before
    any row), sources (a regeneration locks its source before the key), keys, uploads.
    """
    locks.lock_usage(account)
    # Unscoped: the caller found the account.
    sources = UsageSource.objects.unscoped().select_for_update(no_key=True).filter(account=account)
    if source_id is not None:
        sources = sources.filter(pk=source_id)
    source_ids = list(sources.order_by("pk").values_list("pk", flat=True))
    for rows in (UsageKey.objects.unscoped(), UsageUpload.objects.unscoped()):
        list(rows.select_for_update().filter(source_id__in=source_ids).order_by("pk").values_list("pk"))


def _lock_push_source(source: UsageSource) -> None:
    """Lock the source until the end of the transaction, against other changes of its key. Raises UserError for a pull
    source."""
    # Unscoped: the caller found the source in its account. NO KEY: a push that has locked the key inserts a batch
    # that refers to the source; with a stronger lock both transactions would deadlock.
    row = UsageSource.objects.unscoped().select_for_update(no_key=True).get(pk=source.pk)
    if row.kind != UsageSource.Kind.PUSH:
        raise UserError(
            f"{row.name} pulls usage with a vendor's credential and has no API key. Create a Push/API "
            "source for your own backend."
        )


USAGE_KEYS: Final = SourceKeys(
    UsageKey,
    PREFIX,
    "usage_key",
    PushCredential,
    _lock_push_source,
    settings=("event_id_field", "customer_attribute"),
)
authenticate_usage_key = USAGE_KEYS.authenticate
lock_active_key = USAGE_KEYS.lock
active_key_lock = USAGE_KEYS.lock_statement
generate_usage_key = USAGE_KEYS.generate
regenerate_usage_key = USAGE_KEYS.regenerate
revoke_usage_key = USAGE_KEYS.revoke
