"""Log lines of the programs as production starts them."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

from tests.deployment import redis_server
from tests.finops.telemetry.programs import lines, program
from tests.long import also_long
from tests.servers import LiveServer, serve
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

REQUEST_ID = "walk-8"


def invite(server: LiveServer, slug: str, session: str) -> None:
    token = "a" * 32
    request = Request(  # noqa: S310 - our own server
        f"{server.url}/a/{slug}/settings/members/invite/",
        urlencode({"email": "new@example.com", "role": "viewer"}).encode(),
        {
            "Cookie": f"finops_session={session}; finops_csrf={token}",
            "X-CSRFToken": token,
            "Origin": server.url,
            "X-Request-Id": REQUEST_ID,
        },
    )
    with urlopen(request, timeout=30) as answer:  # noqa: S310
        assert answer.status == 200


@pytest.mark.usefixtures("django_db_setup")
def test_one_request_id_leads_from_a_page_through_its_task_to_the_workers_statements(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    # A mail server that is not there: the worker logs that, and writes when it tries again.
    settings = {"LOG_FORMAT": "json", "EMAIL_URL": "smtp://127.0.0.1:1"}
    with redis_server() as redis, serve(REDIS_URL=redis, **settings) as server:
        owner = server.run("tests.finops.telemetry.messages:session_of_owner")
        server.run("tests.finops.telemetry.messages:record_statements")
        invite(server, owner["slug"], owner["session"])
        with program("worker", log, server.environment):
            wait_until(lambda: "was not taken" in log.read_text(), log.read_text)
            wait_until(lambda: len(server.run("tests.finops.telemetry.messages:statements")) == 2)

        (line,) = [line for line in lines(log) if "was not taken" in line["message"]]
        assert (line["request_id"], line["task"]) == (REQUEST_ID, "accounts.send_invitation")
        assert line["account_id"] > 0
        for statement in server.run("tests.finops.telemetry.messages:statements"):
            assert statement.endswith(f" /*request_id='{REQUEST_ID}'*/")


@pytest.mark.usefixtures("django_db_setup")
@pytest.mark.parametrize("name", ["worker", *also_long("beat")])
def test_programs_of_celery_write_json_too(name: str, tmp_path: Path) -> None:
    log = tmp_path / "program.log"
    environment = {"LOG_FORMAT": "json", "REDIS_URL": "redis://127.0.0.1:1/0", "VAR_DIR": str(tmp_path)}
    with program(name, log, environment):
        wait_until(lambda: bool(log.read_text()))

    assert {line["level"] for line in lines(log)} <= {"WARNING", "ERROR", "CRITICAL"}
