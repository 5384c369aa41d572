"""Cost keys for `/api/costs`, of cost sources without a connection (`accounts/source_keys.py`)."""

from __future__ import annotations

import dataclasses
from typing import Final

from django.db import transaction

from accounts.audit import Actor
from accounts.models import Account
from accounts.source_keys import SourceCredential, SourceKeys
from finops.connections.models import CostConnection, CostKey
from finops.costs.models import CostSource
from finops.costs.services import create_cost_source
from finops.lib.errors import UserError

PREFIX: Final = "fcst_"


class RevokedCostKey(Exception):
    """The key was revoked or replaced during its request."""


@dataclasses.dataclass(frozen=True, slots=True)
class CostCredential(SourceCredential):
    """A valid cost key: its account, and the source of its rows."""

    @property
    def actor(self) -> Actor:
        return Actor(label=f"Cost key {CostKey(lookup=self.lookup).masked_key}")


def _lock_source(source: CostSource) -> None:
    """Lock the source until the end of the transaction, against other changes of its key. Raises UserError for a
    source with a connection."""
    # Unscoped: the caller found the source in its account.
    CostSource.objects.unscoped().select_for_update(no_key=True).get(pk=source.pk)
    # Unscoped: the connection of that source.
    if CostConnection.objects.unscoped().filter(source=source).exists():
        raise UserError(
            f"{source.name} is synced, so it has no API key. Create a separate source for pushes."
        )


COST_KEYS: Final = SourceKeys(CostKey, PREFIX, "cost_key", CostCredential, _lock_source)
authenticate_cost_key = COST_KEYS.authenticate
generate_cost_key = COST_KEYS.generate
regenerate_cost_key = COST_KEYS.regenerate
revoke_cost_key = COST_KEYS.revoke


def lock_living_key(credential: CostCredential) -> None:
    """Lock the key until the end of the caller's transaction. Raises RevokedCostKey if it was revoked or replaced.
    One statement."""
    if not COST_KEYS.lock(credential.key_id):
        raise RevokedCostKey


@transaction.atomic
def create_pushed_source(*, account: Account, actor: Actor, name: str) -> tuple[CostSource, CostKey, str]:
    """Create a cost source for pushes, with its key and the key's plaintext. Raises ValidationError for a name that
    is empty, too long or already used."""
    source = create_cost_source(account=account, name=name, actor=actor)
    key, plaintext = generate_cost_key(source=source, actor=actor)
    return source, key, plaintext
