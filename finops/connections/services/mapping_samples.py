"""A file of a connection to map its columns by, and reading its months anew once they are mapped."""

from __future__ import annotations

import tempfile
from pathlib import Path

from django.conf import settings
from django.db import transaction

from accounts.audit import Actor
from finops.connections.connector import MonthConflict, SourceUnavailable
from finops.connections.connectors import connector_of
from finops.connections.models import CostConnection
from finops.connections.services.credentials import config_of
from finops.connections.services.syncs import queue_sync
from finops.costs.services import keep_sample
from finops.lib.errors import UserError


def fetch_sample(*, connection: CostConnection) -> None:
    """Fetch the newest file of a connection whose files may have any columns, and keep it to look at. Raises UserError
    (SourceError, AccessError, LowDisk) for what the other side answers, and for a connector whose columns are its own."""
    connector = connector_of(connection.connector)
    if not connector.takes_any_columns:
        raise UserError(f"Files of {connector.title} have fixed columns and need no column mapping.")
    with tempfile.TemporaryDirectory(prefix="sample-", dir=_uploads()) as folder:
        try:
            file = connector.newest_file(config_of(connection), Path(folder))
        except MonthConflict as error:
            raise SourceUnavailable(f"{error} Try again.") from error
        keep_sample(source=connection.source, path=file.path)


def sync_again(*, connection: CostConnection, actor: Actor) -> bool:
    """Read the months by the mapping that the source has now. False while a sync waits or runs, or the connection is paused:
    the next one does it."""
    if connection.paused_at is not None:
        return False
    try:
        with transaction.atomic():
            queue_sync(connection=connection, actor=actor)
    except UserError:
        return False
    return True


def _uploads() -> Path:
    # What is left here for a day is removed by costs.remove_forgotten_uploads.
    folder = Path(settings.VAR_DIR) / "uploads"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder
