"""URLs of pages of the console."""

from __future__ import annotations

import functools

from django.http import QueryDict
from django.urls import reverse

from finops.operations.catalog import entries
from finops.operations.rows import Row, has_secret_key


@functools.cache
def _models_with_pages() -> frozenset[type[Row]]:
    return frozenset(entry.model for entry in entries() if not has_secret_key(entry.model))


def row_href(row: Row) -> str:
    """The page of a row; empty where it has none."""
    if type(row) not in _models_with_pages():
        return ""
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])


def list_href(model: type[Row], **params: object) -> str:
    """The URL of a model's list with the rows that `params` select: a relation (`account=5`), a filter, `sort`."""
    url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    query = QueryDict(mutable=True)
    query.update({name: str(value) for name, value in params.items()})
    return f"{url}?{query.urlencode()}" if query else url
