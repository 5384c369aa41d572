"""Panels that the pages of some rows show besides their fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from accounts.limits import LIMITS, Limit, limit_of
from accounts.models import Account, AccountDeletion
from accounts.sso.models import IdentityProvider
from accounts.sso.services import provider_urls
from finops.exports.models import AccountExport
from finops.exports.services import EXPORT_DAYS
from finops.operations.catalog import entries
from finops.operations.links import row_href
from finops.operations.rows import Row


def rows_by_model(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Convert counts by table to counts by model, largest first; partitions of a table are one."""
    names = {entry.model._meta.db_table: entry.label for entry in entries()}
    by_name: Counter[str] = Counter()
    for table, count in counts.items():
        whole = table if table in names else table.rstrip("0123456789").rstrip("_")
        by_name[names.get(whole, whole)] += count
    return by_name.most_common()


@dataclass(frozen=True)
class RowPanel:
    """A template with its data, as `panel`."""

    template: str
    values: dict[str, Any]


def _deletion_panel(record: AccountDeletion) -> RowPanel:
    left = dict(rows_by_model(record.rows_left))
    tables = [(name, count, left.pop(name, 0)) for name, count in rows_by_model(record.rows_before)]
    values = {
        "record": record,
        "href": row_href(record),
        "tables": [*tables, *((name, 0, count) for name, count in left.items())],
        "is_clean": record.finished_at is not None and not record.rows_left and not record.files_left,
    }
    return RowPanel("operations/_deletion.html", values)


def _account_panel(account: Account) -> RowPanel | None:
    if account.delete_after is None:
        return None
    record = AccountDeletion.objects.filter(account_number=account.pk).first()
    if record is not None:
        return _deletion_panel(record)
    return RowPanel("operations/_scheduled_deletion.html", {"when": account.delete_after})


def _limits_panel(account: Account) -> RowPanel:
    return RowPanel("operations/_limits.html", {"limits": [_limit_row(account, each) for each in LIMITS]})


def _limit_row(account: Account, limit: Limit) -> dict[str, Any]:
    own = account.limits.get(limit.name)
    return {
        "title": limit.title,
        "value": limit.text(own) if limit.accepts(own) else "",
        "default": limit.text(limit.default),
        "refused": own if own is not None and not limit.accepts(own) else None,
    }


def _export_panel(export: AccountExport) -> RowPanel:
    values = {"export": export, "href": row_href(export), "expires_at": export.finished_at}
    if export.finished_at is not None:
        values["expires_at"] = export.finished_at + timedelta(days=limit_of(export.account, EXPORT_DAYS))
    return RowPanel("operations/_export.html", values)


def _provider_panel(provider: IdentityProvider) -> RowPanel | None:
    if provider.account_id is not None:
        return None
    clients = provider.assertion_clients.select_related("account", "application")
    rows = [(client, row_href(client)) for client in clients]
    values = {"provider": provider, "copy": provider_urls(provider), "clients": rows}
    return RowPanel("operations/_identity_provider.html", values)


PANELS: Final[dict[str, Callable[[Any], RowPanel | None]]] = {
    "accounts.Account": _account_panel,
    "accounts.AccountDeletion": _deletion_panel,
    "exports.AccountExport": _export_panel,
    "sso.IdentityProvider": _provider_panel,
}

LOWER_PANELS: Final[dict[str, Callable[[Any], RowPanel]]] = {"accounts.Account": _limits_panel}


def panel_of(row: Row) -> RowPanel | None:
    """Return the panel above the row's fields; None for most rows. At most one query."""
    panel = PANELS.get(row._meta.label)
    return panel(row) if panel is not None else None


def lower_panel_of(row: Row) -> RowPanel | None:
    """Return the panel below the row's fields; None for most rows. No query."""
    panel = LOWER_PANELS.get(row._meta.label)
    return panel(row) if panel is not None else None
