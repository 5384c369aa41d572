"""The served program, as Prometheus finds it: two web processes and a worker that count in one folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.deployment import redis_server
from tests.finops.telemetry.programs import lines, program
from tests.finops.telemetry.scrape import BEARER, TOKEN, Scrape, answers, scrape_worker
from tests.servers import LiveServer, free_port, serve
from tests.waiting import wait_until

pytestmark = pytest.mark.slow


def scrape(server: LiveServer) -> Scrape:
    with urlopen(Request(f"{server.url}/metrics", headers=BEARER), timeout=30) as answer:  # noqa: S310
        return Scrape(answer.read().decode())


@pytest.mark.usefixtures("django_db_setup")
def test_workers_of_a_machine_without_a_web_server_are_one_scrape(tmp_path: Path) -> None:
    port = free_port()
    metrics = {
        "METRICS_TOKEN": TOKEN,
        "METRICS_DIR": str(tmp_path / "metrics"),
        "METRICS_LISTEN": f"127.0.0.1:{port}",
    }
    with redis_server() as redis, serve(REDIS_URL=redis) as server:
        environment = {**server.environment, **metrics}
        with program("import worker", tmp_path / "imports.log", environment):
            with program("worker", tmp_path / "worker.log", environment):
                wait_until(lambda: answers(port))
                server.run("tests.finops.telemetry.messages:send_note")
                wait_until(
                    lambda: (
                        scrape_worker(port).value(
                            "finops_tasks_total", task="finops.note_worker", outcome="success"
                        )
                        == 1
                    )
                )
                wait_until(
                    lambda: (
                        scrape_worker(port).value("finops_processes", program="worker-short")
                        + scrape_worker(port).value("finops_processes", program="worker-imports")
                        == 2
                    )
                )
                assert "finops_accounts" not in scrape_worker(port).names
                for headers, path, status in (({}, "/metrics", 401), (BEARER, "/", 404)):
                    with pytest.raises(HTTPError) as refusal:
                        scrape_worker(port, headers, path)
                    with refusal.value as answer:
                        assert answer.code == status
            # Whichever of them served, the other does now; counts of the one that ended stay.
            wait_until(lambda: answers(port))
            metrics_text = scrape_worker(port)
            assert metrics_text.value("finops_tasks_total", task="finops.note_worker", outcome="success") == 1
            assert metrics_text.value("finops_processes", program="worker-short") == 0


def get(server: LiveServer, path: str) -> Any:
    return urlopen(Request(server.url + path, headers={"X-Request-Id": "walk-7"}), timeout=30)  # noqa: S310


@pytest.mark.usefixtures("django_db_setup")
def test_two_web_processes_and_a_worker_are_one_scrape(tmp_path: Path) -> None:
    shared = {"METRICS_TOKEN": TOKEN, "METRICS_DIR": str(tmp_path / "metrics"), "LOG_FORMAT": "json"}
    with (
        redis_server() as redis,
        serve(REDIS_URL=redis, **shared) as first,
        serve(REDIS_URL=redis, **shared) as second,
    ):
        before = scrape(first)
        for server, times in ((first, 3), (second, 4)):
            for _ in range(times):
                with get(server, "/auth/login/") as answer:
                    assert answer.headers["X-Request-Id"] == "walk-7"
        first.run("tests.finops.telemetry.messages:send_note")
        with program("worker", tmp_path / "worker.log", first.environment):
            wait_until(
                lambda: (
                    scrape(second).value("finops_tasks_total", task="finops.note_worker", outcome="success")
                    > 0
                )
            )
            wait_until(lambda: scrape(first).value("finops_processes", program="worker-short") == 1)
        after = scrape(second)

        signed_in = {"endpoint": "sign-in", "status": "200"}
        assert after.value("finops_http_requests_total", **signed_in) == 7 + before.value(
            "finops_http_requests_total", **signed_in
        )
        assert after.value("finops_processes", program="web") == 2
        assert after.value("finops_processes", program="worker-short") == 0
        assert after.value("finops_database_pool_connections", state="open") >= 1
        assert all({"timestamp", "level", "logger", "message"} <= line.keys() for line in lines(first.log))
