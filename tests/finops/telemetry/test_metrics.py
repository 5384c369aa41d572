from __future__ import annotations

import os
import subprocess
import sys
import threading
from bisect import bisect_right
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as project
from django.test import Client
from pytest_django import Settings

from accounts.scoping import account_scope
from accounts.services.suspension import suspend_account
from finops.connections.models import CostConnection
from finops.costs.models import CostImport, CostSource
from finops.data_exports.models import DataExport, DataExportRun
from finops.lake.usage.compaction import SIZE_CLASSES, size_class
from finops.lib import clock
from finops.lib.telemetry import metrics
from finops.lib.telemetry.slots import KINDS, Slots
from finops.telemetry.collector import STATES
from ingestion.models import UsageSource
from tests.cast import Cast, signed_in
from tests.finops.telemetry.scrape import BEARER, Scrape
from tests.ingestion.push_client import create_push_client, event
from tests.mcpserver.mcp_client import McpClient, mint


def scrape(client: Client) -> Scrape:
    answer = client.get("/metrics", headers=BEARER)
    assert answer.status_code == 200
    return Scrape(answer.content.decode())


@pytest.mark.django_db
def test_metrics_are_off_by_default(client: Client) -> None:
    assert client.get("/metrics", headers=BEARER).status_code == 404


@pytest.mark.django_db
@pytest.mark.usefixtures("metrics_folder")
@pytest.mark.parametrize(
    "sent", ["", "Bearer", "Bearer wrong", "Basic " + BEARER["authorization"][7:], "Bearer é"]
)
def test_without_the_token_there_are_no_metrics(client: Client, sent: str) -> None:
    answer = client.get("/metrics", headers={"authorization": sent} if sent else {})

    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == 'Bearer realm="metrics"'
    assert b"finops_" not in answer.content


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("metrics_folder")
def test_counts_rise_by_exactly_the_calls_that_were_made(cast: Cast, client: Client) -> None:
    push, ask, person = create_push_client(cast), McpClient(mint(cast)), signed_in(cast.owner)
    before = scrape(client)
    for number in range(3):
        assert push.push(event(event_id=str(number)), event(event_id="same")).status_code == 200
    assert push.push(event(quantity="many")).json()["rejected"] == 1
    assert push.send("{}", authorization="Bearer no").status_code == 401
    for _ in range(2):
        ask.ask("listTeams")
    ask.request("tools/call", {"name": "no such tool", "arguments": {}})
    assert person.get(f"/a/{cast.account.slug}/budgets/").status_code == 200
    after = scrape(client)

    def rise(name: str, **labels: str) -> float:
        return after.value(name, **labels) - before.value(name, **labels)

    assert rise("finops_http_requests_total", endpoint="usage-push", status="200") == 4
    assert rise("finops_http_requests_total", endpoint="usage-push", status="401") == 1
    assert rise("finops_http_request_duration_seconds_count", endpoint="usage-push") == 5
    assert rise("finops_usage_events_total", outcome="accepted") == 4
    assert rise("finops_usage_events_total", outcome="duplicate") == 2
    assert rise("finops_usage_events_total", outcome="rejected") == 1
    assert rise("finops_http_requests_total", endpoint="mcp", status="200") == 3
    assert rise("finops_mcp_calls_total", tool="listTeams", outcome="ok") == 2
    assert rise("finops_mcp_calls_total", tool="unknown", outcome="refused") == 1
    assert rise("finops_mcp_call_duration_seconds_count", tool="listTeams") == 2
    assert rise("finops_page_duration_seconds_count", view="budgets") == 1
    assert after.value("finops_usage_inbox_events") - before.value("finops_usage_inbox_events") == 4


@pytest.mark.django_db
@pytest.mark.usefixtures("metrics_folder")
def test_the_state_of_the_database_is_read_with_one_statement(client: Client, cast: Cast) -> None:
    create_push_client(cast)
    values = scrape(client)

    assert values.value("finops_database_up") == 1
    assert values.value("finops_accounts") == 2
    assert values.value("finops_database_size_bytes") > 1_000_000
    assert values.value("finops_disk_free_bytes") > 0
    jobs = ("cost_import", "cost_sync", "cost_push", "data_export", "usage_upload", "alert_delivery", "mail")
    assert [values.value("finops_jobs_waiting", job=job) for job in jobs] == [0] * 7
    assert {name for name in values.names if name.startswith("finops_job")} == {
        "finops_jobs_waiting",
        "finops_jobs_running",
        "finops_job_oldest_waiting_seconds",
    }


@pytest.mark.django_db
@pytest.mark.usefixtures("metrics_folder")
def test_waiting_jobs_of_a_suspended_account_are_in_no_alert_metric(client: Client, cast: Cast) -> None:
    with account_scope(cast.account):
        source = CostSource.objects.create(account=cast.account, name="Bills")
        CostImport.objects.create(account=cast.account, source=source, file_name="may.csv")
        CostConnection.objects.create(
            account=cast.account,
            source=source,
            connector="folder",
            external_id="bills",
            next_sync_at=clock.now() - timedelta(hours=2),
        )
        export = DataExport.objects.create(
            account=cast.account,
            name="lake",
            external_id="lake",
            next_run_at=clock.now() - timedelta(hours=2),
        )
        # Its moment is only the earliest: it waits for an import.
        DataExport.objects.create(
            account=cast.account,
            name="after",
            external_id="after",
            schedule=DataExport.Schedule.AFTER_IMPORTS,
            next_run_at=clock.now() - timedelta(hours=2),
        )
        DataExportRun.objects.create(account=cast.account, export=export)
    running = scrape(client)
    suspend_account(account=cast.account, actor=cast.actor)
    suspended = scrape(client)

    assert running.value("finops_jobs_waiting", job="cost_import") == 1
    assert running.value("finops_cost_connections", state="late") == 1
    assert running.value("finops_jobs_waiting", job="data_export") == 1
    assert running.value("finops_data_exports", state="late") == 1
    assert running.value("finops_data_exports", state="ok") == 1
    assert suspended.value("finops_jobs_waiting", job="cost_import") == 0
    assert suspended.value("finops_jobs_waiting", job="data_export") == 0
    assert suspended.value("finops_data_exports", state="paused") == 2
    assert suspended.value("finops_cost_connections", state="late") == 0
    assert suspended.value("finops_cost_connections", state="paused") == 1


@pytest.mark.parametrize("rows", [1, 7, 8, 63, 64, 511, 4_096, 262_143, 262_144, 2_097_151])
def test_segments_are_grouped_as_compaction_groups_them(rows: int) -> None:
    assert bisect_right(SIZE_CLASSES, rows) == size_class(rows)


@pytest.mark.usefixtures("metrics_folder")
def test_counts_are_served_while_the_database_is_away(client: Client) -> None:
    """pytest-django refuses the connection here, as a database that is down does."""
    client.get("/healthz")
    values = scrape(client)

    assert values.value("finops_database_up") == 0
    assert values.value("finops_http_requests_total", endpoint="probes", status="200") == 1


@pytest.mark.django_db
@pytest.mark.usefixtures("metrics_folder")
def test_no_label_names_an_account_or_what_people_typed(cast: Cast, client: Client) -> None:
    McpClient(mint(cast)).request("tools/call", {"name": "planted_tool", "arguments": {}})
    signed_in(cast.owner).get(f"/a/{cast.account.slug}/budgets/?planted=planted")
    client.get("/planted/")
    create_push_client(cast).push(event(customer_id="planted", metric="planted"))

    values = scrape(client).label_values

    words = ("planted", cast.account.slug, str(UsageSource.objects.unscoped().get().name))
    assert [value for value in values if any(word in value for word in words)] == []


def test_names_follow_the_conventions_of_prometheus() -> None:
    for metric in metrics.instruments:
        assert metric.name.startswith("finops_")
        assert metric.help.endswith(".")
        assert metric.name.endswith("_total") == (metric.kind == "Counter")
        is_duration = metric.name.endswith("_seconds") and not metric.name.endswith("_timestamp_seconds")
        assert is_duration == (metric.kind in ("Histogram", "Summary"))
    names = [*(metric.name for metric in metrics.instruments), *(f"finops_{name}" for name in STATES)]
    assert len(names) == len(set(names))


_COUNT = """
import sys
from pathlib import Path
from finops.lib.telemetry import metrics
metrics.enable(Path(sys.argv[1]))
metrics.FLUSHED.inc(by=5)
metrics.RUNNING_REQUESTS.set(3, "pages")
print("counted", flush=True)
sys.stdin.read()
"""


def test_counts_of_processes_that_ended_stay_and_what_they_held_goes(metrics_folder: Path) -> None:
    metrics.FLUSHED.inc(by=2)
    metrics.RUNNING_REQUESTS.set(1, "pages")
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", _COUNT, str(metrics_folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=project.BASE_DIR,
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            running = Scrape(metrics.exposition()[1].decode())
            assert running.value("finops_web_requests_running", bulkhead="pages") == 4
            process.kill()

    ended = Scrape(metrics.exposition()[1].decode())
    assert ended.value("finops_usage_flushed_events_total") == 17
    assert ended.value("finops_web_requests_running", bulkhead="pages") == 1
    (folder,) = metrics_folder.iterdir()
    assert len(list(folder.glob("counter_*.db"))) == 2


def test_files_of_versions_that_run_no_more_are_removed(tmp_path: Path) -> None:
    ended, running, foreign = tmp_path / ("a" * 12), tmp_path / ("b" * 12), tmp_path / "notes"
    slots = []
    for folder in (ended, running, foreign):
        folder.mkdir()
        slots.append(Slots(folder))
        slots[-1].identifier()
    slots[0].release()
    slots[2].release()
    metrics.enable(tmp_path)
    try:
        current = metrics.directory()
        assert current is not None
        assert {folder.name for folder in tmp_path.iterdir()} == {current.name, running.name, foreign.name}
        assert len(list(foreign.iterdir())) == 5
    finally:
        metrics.disable()
        slots[1].release()


def test_counts_are_served_while_a_process_starts(
    metrics_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics.FLUSHED.inc(by=2)
    (folder,) = metrics_folder.iterdir()
    scrapes: list[Scrape] = []
    allocate = os.posix_fallocate

    def scrape_first(descriptor: int, offset: int, size: int) -> None:
        scrapes.append(Scrape(metrics.exposition()[1].decode()))
        allocate(descriptor, offset, size)

    monkeypatch.setattr(os, "posix_fallocate", scrape_first)
    slots = Slots(folder)
    slots.identifier()
    slots.release()

    assert [each.value("finops_usage_flushed_events_total") for each in scrapes] == [2] * len(KINDS)


def test_a_child_of_a_fork_counts_for_itself(tmp_path: Path) -> None:
    slots = Slots(tmp_path)
    own_slot = slots.identifier()
    pid = os.fork()
    if pid == 0:
        os._exit(slots.identifier())
    _, status = os.waitpid(pid, 0)

    assert os.waitstatus_to_exitcode(status) == own_slot + 1
    assert Slots(tmp_path).identifier() == own_slot + 1


def test_counts_of_a_forks_child_and_of_its_parent_add_up(metrics_folder: Path) -> None:
    metrics.FLUSHED.inc(by=2)
    metrics.REQUEST_SECONDS.observe(0.02, "mcp")
    pid = os.fork()
    if pid == 0:
        metrics.FLUSHED.inc(by=3)
        metrics.REQUEST_SECONDS.observe(0.3, "mcp")
        os._exit(0)
    os.waitpid(pid, 0)
    metrics.FLUSHED.inc(by=4)

    scrape = Scrape(metrics.exposition()[1].decode())
    assert scrape.value("finops_usage_flushed_events_total") == 9
    assert scrape.value("finops_http_request_duration_seconds_count", endpoint="mcp") == 2
    assert scrape.value("finops_http_request_duration_seconds_sum", endpoint="mcp") == pytest.approx(0.32)
    (folder,) = metrics_folder.iterdir()
    assert len(list(folder.glob("counter_*.db"))) == 2


def test_counts_of_many_threads_add_up(metrics_folder: Path) -> None:
    def count() -> None:
        for _ in range(2_000):
            metrics.FLUSHED.inc(by=2)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (
        Scrape(metrics.exposition()[1].decode()).value("finops_usage_flushed_events_total") == 4 * 2_000 * 2
    )


@pytest.mark.parametrize(
    ("seconds", "bound"), [(0.0, "0.005"), (0.005, "0.005"), (0.006, "0.01"), (31.0, "+Inf")]
)
def test_a_duration_is_in_the_bucket_of_the_next_bound(
    metrics_folder: Path, seconds: float, bound: str
) -> None:
    metrics.REQUEST_SECONDS.observe(seconds, "mcp")

    scrape = Scrape(metrics.exposition()[1].decode())
    counts = {
        dict(labels)["le"]: value
        for (name, labels), value in scrape.samples.items()
        if name == "finops_http_request_duration_seconds_bucket"
    }
    assert [le for le, value in counts.items() if value == 0] == [
        le for le in counts if float(le) < float(bound)
    ]


def test_outcomes_of_pushed_events_are_exposed_before_the_first(metrics_folder: Path) -> None:
    text = metrics.exposition()[1].decode()

    for outcome in ("accepted", "duplicate", "rejected"):
        assert f'finops_usage_events_total{{outcome="{outcome}"}} 0.0' in text


def test_nothing_is_imported_where_metrics_are_off() -> None:
    """redis-py itself imports the metrics of OpenTelemetry where they are installed."""
    code = "import django, sys; django.setup(); import finops.asgi; print([n for n in sys.modules if n.startswith(('prometheus', 'pythonjsonlogger', 'sentry', 'opentelemetry.exporter', 'opentelemetry.sdk.trace'))])"
    printed = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project.BASE_DIR,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.live_settings"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout.strip() == "[]"


def test_a_full_disk_turns_metrics_off(settings: Settings, tmp_path: Path) -> None:
    from finops.telemetry import programs

    settings.METRICS_TOKEN = BEARER["authorization"]
    settings.METRICS_DIR = Path("/proc/no/such/folder")
    programs.start("web")

    assert metrics.directory() is None
