"""Each documented setup from nothing, as its processes: a push is flushed, an import finished, an alert sent.

PgBouncer comes with the system (Debian: pgbouncer), or where PGBOUNCER says; `make setups` installs it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import override_settings
from moto.server import ThreadedMotoServer

from accounts.audit import Actor
from accounts.models import Account, User
from accounts.scoping import account_scope
from accounts.services import create_account
from finops.alerts.services import create_alert_subscription, create_channel
from finops.alerts.subscription_drafts import SubscriptionDraft
from finops.budgets.services import BudgetDraft, create_budget
from finops.checks import check_pooler
from finops.costs.models import CostImport
from finops.costs.services import create_cost_source, queue_import
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lib import clock
from ingestion import services as ingestion
from tests import s3
from tests.database_template import template
from tests.deployment import redis_server
from tests.ingestion.push_client import PATH, event
from tests.receivers import MailServer, smtp_server
from tests.servers import ROOT, LiveServer, _database, _end_with_the_tests, _wait_until_ready, free_port
from tests.waiting import wait_until

PATIENCE = 120.0
HERE = "tests.finops.test_setups"
HEADER = "BillingPeriodStart,ChargePeriodStart,ProviderName,ServiceName,ChargeCategory,BillingCurrency,BilledCost,EffectiveCost"
WELL = {"database": "ok", "migrations": "ok", "lake": "ok", "worker": "ok", "beat": "ok"}
PGBOUNCER = os.environ.get("PGBOUNCER") or shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")

pytestmark = [pytest.mark.xdist_group("processes"), pytest.mark.slow]


# -- in the setup's own process -------------------------------------------------------------------------------------


def begin() -> str:
    """An account with an import that waits for its worker; the key of its usage source."""
    owner = User.objects.create_user("ann@example.com", "a long enough secret")
    account, actor = create_account(name="Acme", owner=owner, slug="acme"), Actor.of_user(owner)
    with account_scope(account):
        source = create_cost_source(account=account, actor=actor, name="AWS")
        today = clock.today()
        row = f"{today:%Y-%m}-01T00:00:00Z,{today:%Y-%m}-01T00:00:00Z,AWS,S3,Usage,USD,90.00,90.00"
        file = SimpleUploadedFile("bill.csv", f"{HEADER}\n{row}\n".encode())
        queue_import(source=source, uploads=[file], actor=actor)
        usage = ingestion.create_usage_source(account=account, actor=actor, name="Backend")
        return ingestion.generate_usage_key(source=usage, actor=actor)[1]


def go_on() -> None:
    """The import is done: what was pushed grows old, and a budget is exceeded that somebody wants to know of."""
    account = Account.objects.get()
    actor = Actor.of_user(User.objects.get())
    with connection.cursor() as cursor:
        cursor.execute("UPDATE lake_usageinbox SET received_at = received_at - interval '1 hour'")
    with account_scope(account):
        budget = BudgetDraft(name="Cloud", amount=Decimal(100), currency="USD")
        create_budget(account=account, actor=actor, draft=budget)
        target = {"addresses": ["ops@example.com"]}
        create_channel(account=account, actor=actor, name="Ops", kind="email", target=target)
        draft = SubscriptionDraft(channel="Ops", trigger="budget", budget="Cloud", thresholds=(80,))
        create_alert_subscription(account=account, actor=actor, draft=draft)


def prepared_errors() -> list[str]:
    """What would be wrong with DATABASE_PREPARED=1 here."""
    with override_settings(DATABASE_PREPARED=True):
        return [str(message.id) for message in check_pooler()]


def imports() -> list[str]:
    return list(CostImport.objects.unscoped().values_list("status", flat=True))


def is_flushed() -> bool:
    return LakeSegment.objects.unscoped().filter(kind=Kind.USAGE).exists()


# -- setups ---------------------------------------------------------------------------------------------------------


@contextmanager
def program(log: Path, environment: Mapping[str, str], *command: str) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=_end_with_the_tests,
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def pooler(url: str) -> Iterator[str]:
    """PgBouncer in transaction mode before the database of `url`; its URL. One connection fewer than clients want."""
    assert PGBOUNCER
    parts, port = urlsplit(url), free_port()
    home, name = parse_qs(parts.query)["host"][0], parts.path[1:]
    lines = [
        "[databases]",
        f"{name} = host={home} dbname={name} user={parts.username} password={parts.password}",
        "[pgbouncer]",
        *("listen_addr = 127.0.0.1", f"listen_port = {port}", "unix_socket_dir =", "auth_type = any"),
        *(
            "pool_mode = transaction",
            "default_pool_size = 12",
            "ignore_startup_parameters = extra_float_digits",
        ),
    ]
    owner = Path(home).stat()
    with tempfile.TemporaryDirectory(prefix="finops-pooler-", dir="/tmp") as folder:
        file = Path(folder, "pgbouncer.ini")
        file.write_text("\n".join(lines))
        # It refuses to run as root.
        owner_options = {} if os.geteuid() else {"user": owner.st_uid, "group": owner.st_gid}
        if owner_options:
            os.chown(folder, owner.st_uid, owner.st_gid)
        process = subprocess.Popen([PGBOUNCER, "-q", str(file)], **owner_options)  # type: ignore[call-overload]
        try:
            yield f"postgres://{parts.username}@127.0.0.1:{port}/{name}"
        finally:
            process.terminate()
            process.wait()


@contextmanager
def bucket() -> Iterator[dict[str, str]]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    try:
        s3.create_bucket(url, "lake")
        yield {"LAKE_URL": "s3://lake/facts", **s3.variables(url)}
    finally:
        server.stop()


def until(true: Any, what: str, log: Path) -> None:
    def problem() -> str:
        return f"{what} did not come in {PATIENCE:.0f} s:\n{log.read_text()[-6_000:]}"

    wait_until(true, problem, seconds=PATIENCE, pause=0.2)


def works(server: LiveServer, mails: MailServer) -> None:
    """A push flushed, an import finished, an alert sent, and /readyz has all of it well."""
    server.keeps_caller = True
    try:
        key = server.run(f"{HERE}:begin")
        body = json.dumps({"events": [event(timestamp=f"{clock.now():%Y-%m-%dT%H:%M:%SZ}")]})
        pushed = httpx.post(
            server.url + PATH, content=body, headers={"Authorization": f"Bearer {key}"}, timeout=30
        )
        assert pushed.status_code in (200, 202), pushed.text
        until(lambda: server.run(f"{HERE}:imports") == ["done"], "the import", server.log)
        server.run(f"{HERE}:go_on")
        until(lambda: server.run(f"{HERE}:is_flushed"), "the flush", server.log)
        until(lambda: any(to == "ops@example.com" for to, _ in mails.mails), "the alert", server.log)
        until(lambda: set(checks(server).values()) == {"ok"}, "a /readyz that is well", server.log)
    finally:
        server.end_calls()


def checks(server: LiveServer) -> dict[str, str]:
    results: dict[str, str] = httpx.get(f"{server.url}/readyz", timeout=30).json()["checks"]
    return results


@contextmanager
def mail_environment(var: Path, port: int) -> Iterator[tuple[dict[str, str], MailServer]]:
    with smtp_server() as mails:
        yield (
            {
                **os.environ,
                "DJANGO_SETTINGS_MODULE": "tests.live_settings",
                "PUBLIC_URL": f"http://127.0.0.1:{port}",
                "VAR_DIR": str(var),
                "EMAIL_URL": f"smtp://127.0.0.1:{mails.port}",
            },
            mails,
        )


def several(tmp_path: Path) -> None:
    """Processes of several machines: Redis, S3, two web processes, and a transaction pooler. Where PgBouncer is missing,
    PostgreSQL itself."""
    port, copied = free_port(), template()
    with ExitStack() as stack:
        database = stack.enter_context(_database(copied))
        environment, mails = stack.enter_context(mail_environment(tmp_path / "var", port))
        environment |= stack.enter_context(bucket())
        environment |= {"REDIS_URL": stack.enter_context(redis_server()), "DATABASE_URL": database}
        server = LiveServer(f"http://127.0.0.1:{port}", environment, tmp_path / "log")
        if copied is None:
            server.manage("migrate", "--verbosity=0")
        if PGBOUNCER:
            environment |= {"DATABASE_URL": stack.enter_context(pooler(database)), "DATABASE_PREPARED": "0"}
        web = (sys.executable, "-m", "finops.web", "--port", str(port), "--processes", "2")
        serving = stack.enter_context(program(server.log, environment, *web))
        stack.enter_context(program(server.log, environment, sys.executable, "-m", "finops.worker", "--beat"))
        _wait_until_ready(server, serving)
        server.keeps_caller = True
        assert server.run(f"{HERE}:prepared_errors") == (["finops.E009"] if PGBOUNCER else [])
        works(server, mails)
        assert checks(server) == {**WELL, "redis": "ok"}


def one_machine(redis: bool) -> None:
    """`manage.py up`, which makes a PostgreSQL of its own."""
    with ExitStack() as stack:
        var = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="finops-up-", dir="/tmp")))
        var.chmod(0o711)
        port = free_port()
        environment, mails = stack.enter_context(mail_environment(var / "var", port))
        del environment["DATABASE_URL"]
        if redis:
            environment |= {"REDIS_URL": stack.enter_context(redis_server()), "WEB_PROCESSES": "2"}
        server = LiveServer(f"http://127.0.0.1:{port}", environment, var / "log")
        up = (sys.executable, "manage.py", "up", "--no-demo", "--port", str(port))
        serving = stack.enter_context(program(server.log, environment, *up))
        _wait_until_ready(server, serving)
        works(server, mails)
        assert checks(server) == WELL | {"redis": "ok"}


SETUPS: dict[str, Callable[[Path], None]] = {"several": several}
if os.environ.get("SETUPS"):
    SETUPS |= {"embedded": lambda _: one_machine(redis=False), "redis": lambda _: one_machine(redis=True)}


@pytest.mark.parametrize("name", SETUPS)
def test_a_documented_setup_works_from_nothing(django_db_setup: None, tmp_path: Path, name: str) -> None:
    """`make setups` runs those of `manage.py up` too, which tests/finops/test_up.py starts anyway."""
    SETUPS[name](tmp_path)
