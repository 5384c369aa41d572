"""The pages of a connection's lists (`transports.page_cache`): from its row into a file for the look or fetch, and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.db import transaction

from finops.connections.connector import Connector
from finops.connections.models import ConnectionPageCache, CostSync
from finops.connections.services import sync_claims
from finops.connections.services.child_answers import uploads
from finops.lib import clock


@contextmanager
def page_cache_file(sync: CostSync, connector: Connector[Any]) -> Iterator[Path | None]:
    """A file with the pages, which is read back also where the block fails: requests that were made need not be made again. None
    for a connector that keeps none."""
    if not connector.caches_pages:
        yield None
        return
    path = uploads() / f"sync-{sync.connection_id}-{sync.pk}-{sync.attempts}.pages"
    rows = ConnectionPageCache.objects.filter(connection=sync.connection_id)
    before = bytes(rows.values_list("content", flat=True).first() or b"")
    path.write_bytes(before)
    try:
        yield path
    finally:
        after = path.read_bytes()
        path.unlink()
        if after != before:
            _store(sync, after)


def _store(sync: CostSync, content: bytes) -> None:
    """Nothing where another process has taken the sync up, or it went with its source."""
    with suppress(sync_claims.SyncTakeover), transaction.atomic():
        sync_claims.lock_sync(sync)
        ConnectionPageCache.objects.update_or_create(
            connection=sync.connection,
            defaults={"account": sync.account, "content": content, "updated_at": clock.now()},
        )
