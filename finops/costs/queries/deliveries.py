"""When cost sources brought data: their finished imports."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from django.db import connection

from accounts.models import Account

KEPT: Final = 60
"""Imports of a source that are looked at, the newest."""

_FINISHED: Final = """
SELECT source_id, finished_at, months FROM (
    SELECT source_id, finished_at, months, row_number() OVER (PARTITION BY source_id ORDER BY id DESC) AS place
    FROM costs_costimport WHERE account_id = %s AND status = 'done' AND finished_at IS NOT NULL
) AS newest WHERE place <= %s ORDER BY source_id, finished_at
"""


@dataclass(frozen=True)
class Delivery:
    """One finished import: when (UTC), and the first day of each billing month that it brought whole."""

    at: datetime
    months: tuple[date, ...]


def cost_deliveries(account: Account) -> Mapping[int, list[Delivery]]:
    """The newest finished imports of every cost source by its id, in order of time. One query."""
    deliveries: dict[int, list[Delivery]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_FINISHED, [account.pk, KEPT])
        for source_id, at, months in cursor.fetchall():
            deliveries[source_id].append(Delivery(at, _months(months)))
    return deliveries


def _months(names: str) -> tuple[date, ...]:
    return tuple(date.fromisoformat(f"{name}-01") for name in json.loads(names))
