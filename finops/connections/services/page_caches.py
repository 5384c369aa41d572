"""Cached pages of a connection's lists (`transports.page_cache`): copied from its row to a file for the listing or
fetch, and back."""

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
    """Context manager with a file of the pages. It is stored also if the block fails, so that requests are not
    repeated. None for a connector without a page cache."""
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
    """Store the pages, unless another process has claimed the sync, or it was deleted with its source."""
    with suppress(sync_claims.SyncTakeover), transaction.atomic():
        sync_claims.fence.lock(sync)
        ConnectionPageCache.objects.update_or_create(
            connection=sync.connection,
            defaults={"account": sync.account, "content": content, "updated_at": clock.now()},
        )
