"""A file of a connection to map its columns by, and syncs of its months with a changed mapping."""

from __future__ import annotations

import tempfile
from pathlib import Path

from django.db import transaction

from accounts.audit import Actor
from finops.connections.connector import MonthConflict, SourceUnavailable
from finops.connections.connectors import connector_of
from finops.connections.models import CostConnection
from finops.connections.services.child_answers import uploads
from finops.connections.services.credentials import config_of
from finops.connections.services.interactive_calls import newest_file_in_child
from finops.connections.services.syncs import queue_sync
from finops.costs.services import keep_sample
from finops.lib.errors import UserError


def fetch_sample(*, connection: CostConnection, in_child: bool = False) -> None:
    """Fetch and store the newest file of a connection whose files can have any columns, as a sample. Raises UserError (SourceError,
    AccessError, LowDisk) for errors of the provider, and for a connector with fixed columns. `in_child` limits time and memory."""
    connector = connector_of(connection.connector)
    if not connector.takes_any_columns:
        raise UserError(f"Files of {connector.title} have fixed columns and need no column mapping.")
    with tempfile.TemporaryDirectory(prefix="sample-", dir=uploads()) as folder:
        try:
            config, account = config_of(connection), connection.account
            if in_child:
                file = newest_file_in_child(connector, config, Path(folder), account=account)
            else:
                file = connector.newest_file(config, Path(folder))
        except MonthConflict as error:
            raise SourceUnavailable(f"{error} Try again.") from error
        keep_sample(source=connection.cost_source, path=file.path)


def sync_again(*, connection: CostConnection, actor: Actor) -> bool:
    """Queue a sync that reads the months with the source's current mapping. Returns False if a sync is queued or
    running, or the connection is paused: the next sync does it."""
    if connection.paused_at is not None:
        return False
    try:
        with transaction.atomic():
            queue_sync(connection=connection, actor=actor)
    except UserError:
        return False
    return True
