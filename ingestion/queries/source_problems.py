"""Usage sources that deliver no new usage, as answers about usage name them."""

from __future__ import annotations

from functools import cache

from django.db import connection

from accounts.models import Account
from finops.lib import clock
from finops.lib.cost_access import sees_whole_account
from finops.lib.usage_problems import UsageProblem, read_problems, usage_problems


def source_problems(account: Account) -> list[UsageProblem]:
    """Return the sources whose syncs fail or are late, by name; none for a limited reader, who may not see their names.
    One query: an index lookup."""
    if not sees_whole_account() or not usage_problems.values():
        return []
    with connection.cursor() as cursor:
        cursor.execute(_statement(), {"account": account.pk, "now": clock.now()})
        return read_problems(text or "[]" for text in cursor.fetchone())


@cache
def _statement() -> str:
    """Return one statement of the registered queries. All are registered before the first question."""
    return "SELECT " + ", ".join(f"({each.sql})::text" for each in usage_problems.values())
