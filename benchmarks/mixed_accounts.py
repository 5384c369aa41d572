"""Setup of `bench_mixed` inside the console: accounts with people, a year of bills, keys and a folder; and the age of
its queues."""

from __future__ import annotations

import tempfile
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.conf import settings

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import Account, Role, User
from accounts.scoping import account_scope
from accounts.services import add_member, create_account
from benchmarks.mixed_load import write_month
from finops.budgets.services import BudgetDraft, create_budget
from finops.connections.services import create_connection
from finops.costs import services
from finops.costs.focus.formats import AUTOMATIC
from finops.lib import clock
from finops.operations.queries import database_status
from ingestion.services import create_usage_source, generate_usage_key
from tests.cast import signed_in
from tests.chaos.tenants import bill

MONTHS = 12
ROLES = (Role.ADMIN, Role.MEMBER, Role.MEMBER, Role.VIEWER)


def create_accounts(first: int, count: int, people: int, folders: str) -> list[dict[str, Any]]:
    """Return the data that clients need for each account. Its sessions are the owner's first, then those of other
    people."""
    return [_create(number, people, Path(folders)) for number in range(first, first + count)]


def _create(number: int, people: int, folders: Path) -> dict[str, Any]:
    slug = f"mixed-{number}"
    users = [User.objects.create_user(f"person-{at}@{slug}.example") for at in range(people)]
    account = create_account(name=f"Mixed {number}", owner=users[0], slug=slug)
    actor = Actor.of_user(users[0])
    for at, user in enumerate(users[1:]):
        add_member(account=account, user=user, role=ROLES[at % len(ROLES)], actor=actor)
    _import_bills(account, actor)
    for name in ("All cost", "Compute"):
        draft = BudgetDraft(name=name, amount=Decimal(500), currency="USD")
        create_budget(account=account, actor=actor, draft=draft)
    _key, mcp_key = mint_mcp_key(account=account, actor=actor, name="Assistant")
    source = create_usage_source(account=account, actor=actor, name="Backend")
    usage_key = generate_usage_key(source=source, actor=actor)[1]
    return {
        "slug": slug,
        "mcp": mcp_key,
        "usage": usage_key,
        "sessions": [signed_in(user).cookies[settings.SESSION_COOKIE_NAME].value for user in users],
        "folder": str(folders / slug),
        "source": _connect(account, actor, folders / slug),
    }


def _import_bills(account: Account, actor: Actor) -> None:
    source = services.create_cost_source(account=account, name="Cloud", actor=actor)
    month = clock.today().replace(day=1)
    with tempfile.TemporaryDirectory() as name:
        for number in range(MONTHS):
            path = Path(name) / f"bill-{number}.csv"
            path.write_bytes(bill(month))
            services.import_files(
                account=account, source=source, paths=[path], actor=actor, defaults={}, formats=AUTOMATIC
            )
            month = (month - timedelta(days=1)).replace(day=1)


def _connect(account: Account, actor: Actor, folder: Path) -> int:
    write_month(folder, 0)
    connection = create_connection(
        account=account,
        actor=actor,
        name="Exports",
        connector="folder",
        values={"folder": str(folder), "pattern": "{year}-{month}/*.csv"},
    )
    with account_scope(account):
        assert connection.source is not None
        return connection.source.pk


def queues() -> dict[str, float]:
    """Return pending jobs and events, and the age of the oldest in seconds."""
    status = database_status()
    return {
        "jobs waiting": status.jobs_waiting,
        "oldest job, s": _age(status.oldest_job),
        "events waiting": status.inbox_events,
        "oldest event, s": _age(status.inbox_oldest),
        "database, MB": status.database_bytes / 1024**2,
    }


def _age(moment: datetime | None) -> float:
    return (clock.now() - moment).total_seconds() if moment else 0.0
