from __future__ import annotations

import io
import json
import logging
import logging.config
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client, RequestFactory
from pytest_django import Settings

from accounts.keys import PREFIX, new_secret
from finops.celery import app
from finops.lib import prepared_statements
from finops.lib.telemetry import context
from finops.lib.telemetry.context import TENANT, Work
from finops.lib.telemetry.json_logs import JsonFormatter
from finops.lib.telemetry.logs import PlainFormatter, configuration
from finops.telemetry import task_signals
from finops.telemetry.middleware import trace_request
from tests.cast import Cast, signed_in

log = logging.getLogger("finops.tests.logs")
Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def lines() -> Iterator[Lines]:
    """What is logged, as production writes it."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logging.getLogger().addHandler(handler)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logging.getLogger().removeHandler(handler)


def test_a_line_has_the_request_and_its_account(lines: Lines) -> None:
    def view(request: Any) -> HttpResponse:
        log.warning("before %s", "sign-in")
        request.META[TENANT] = "account 7"
        log.warning("after")
        return HttpResponse()

    answer = trace_request(view)(RequestFactory().get("/x", headers={"X-Request-Id": "proxy-42"}))

    log.warning("outside")
    first, second, outside = lines()
    assert answer["X-Request-Id"] == "proxy-42"
    assert list(first) == ["timestamp", "level", "logger", "message", "request_id"]
    assert {**first, "timestamp": ""} == {
        "timestamp": "",
        "level": "WARNING",
        "logger": "finops.tests.logs",
        "message": "before sign-in",
        "request_id": "proxy-42",
    }
    assert (second["request_id"], second["account_id"]) == ("proxy-42", 7)
    assert "request_id" not in outside


@pytest.mark.parametrize(
    "value", ["", "a b", "x" * 65, "a\r\nSet-Cookie: b", "*/ DROP TABLE x --", "é", "a'b"]
)
def test_an_id_that_could_break_a_line_is_replaced(value: str) -> None:
    request_id = context.accepted_request_id(value)

    assert request_id != value
    assert len(request_id) == 32
    assert request_id.isalnum()
    assert request_id != context.accepted_request_id(value)


def test_every_answer_has_an_id(client: Client) -> None:
    for path in ("/healthz", "/api/mcp", "/api/usage/events"):
        assert len(client.get(path)["X-Request-Id"]) == 32
    assert client.get("/healthz", headers={"X-Request-Id": "0.a_B-9"})["X-Request-Id"] == "0.a_B-9"


def test_an_error_is_one_line_with_its_traceback(client: Client, lines: Lines) -> None:
    client.get("/readyz", headers={"X-Request-Id": "probe-1"})

    (failure,) = [line for line in lines() if line["message"] == "readyz: the check database failed"]
    assert failure["request_id"] == "probe-1"
    assert failure["level"] == "ERROR"
    assert "Traceback" in failure["exc_info"]


def test_a_request_that_is_refused_is_a_warning_of_one_line(cast: Cast, lines: Lines) -> None:
    viewer = signed_in(cast.viewer)
    viewer.get("/a/acme/", headers={"host": "scanner.example"})
    viewer.post("/auth/login/", b"x" * 3_000_000, "application/x-www-form-urlencoded")
    viewer.post("/auth/login/", {f"x{number}": "" for number in range(3_000)})
    viewer.get("/a/acme/settings/audit-log/")
    viewer.post("/auth/profile/", b"--x", "multipart/form-data; boundary=")

    refusals = [line for line in lines() if line["logger"].startswith("django.")]
    assert len(refusals) == 5
    assert {line["level"] for line in refusals} == {"WARNING"}
    assert not [line for line in refusals if "exc_info" in line]


def test_secrets_are_hidden_in_messages_arguments_and_tracebacks(lines: Lines) -> None:
    secret = new_secret(PREFIX)[0]
    try:
        raise ValueError(f"cannot read {secret}")
    except ValueError:
        log.exception("with %s", secret, extra={"body": f"Bearer {secret}"})

    (line,) = lines()
    assert secret not in json.dumps(line)
    assert line["message"] == "with [hidden]"
    record = logging.LogRecord("x", logging.INFO, "", 1, "with %s", (secret,), None)
    assert PlainFormatter().format(record).endswith("INFO x: with [hidden]")


@pytest.mark.parametrize(("form", "formatter_class"), [("json", JsonFormatter), ("plain", PlainFormatter)])
def test_both_forms_can_be_configured(form: str, formatter_class: type) -> None:
    config = configuration(form=form, level="INFO")
    formatter = logging.config.DictConfigurator(config).configure_formatter(config["formatters"]["line"])

    assert isinstance(formatter, formatter_class)


@pytest.mark.parametrize(
    ("form", "level", "problem"),
    [("JSON", "INFO", "LOG_FORMAT is 'JSON'"), ("plain", "LOUD", "LOG_LEVEL is 'LOUD'")],
)
def test_a_form_or_level_that_there_is_not_is_named(form: str, level: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        configuration(form=form, level=level)


@pytest.mark.parametrize(
    ("level", "ours", "libraries"),
    [("debug", "DEBUG", "WARNING"), ("INFO", "INFO", "WARNING"), ("ERROR", "ERROR", "ERROR")],
)
def test_libraries_log_from_warnings_on(level: str, ours: str, libraries: str) -> None:
    """httpx logs the address of each request at INFO, and that of a webhook is a secret."""
    levels = configuration(form="plain", level=level)

    assert logging.getLevelName(levels["loggers"]["mcpserver"]["level"]) == ours
    assert logging.getLevelName(levels["root"]["level"]) == libraries


@pytest.mark.django_db
def test_postgresql_gets_the_request_id_without_another_statement(
    django_assert_num_queries: Any,
) -> None:
    with context.work(Work("request-9")), django_assert_num_queries(4), connection.cursor() as cursor:
        cursor.execute("SELECT current_query() WHERE '100%%' <> %s", [""])
        queries = [cursor.fetchone()[0]]
        cursor.execute("SELECT current_query() WHERE %(a)s = 'a%%'", {"a": "a%"})
        queries.append(cursor.fetchone()[0])
        cursor.execute("SELECT current_query() WHERE 'a' LIKE '%'")
        queries.append(cursor.fetchone()[0])
        prepared = prepared_statements.fetch("SELECT current_query()", [])

    assert [query.partition(" /*")[2] for query in queries] == ["request_id='request-9'*/"] * 3
    assert prepared == [("SELECT current_query()",)]


def test_a_message_to_a_worker_has_the_request_id(settings: Settings) -> None:
    settings.REDIS_URL = "redis://of-this-test"  # what is sent waits in this process all the same
    with context.work(Work("request-5")), app.connection_for_read() as broker:
        app.send_task("finops.note_worker", queue="short", expires=60.0)
        message = broker.default_channel.basic_get("short")

    assert message.headers["request_id"] == "request-5"


def test_a_task_within_a_task_leaves_the_outer_one_as_it_was() -> None:
    outer = inner = app.tasks["finops.note_worker"]
    task_signals.begin("outer", outer)
    task_signals.begin("inner", inner)
    task_ids = [context.request_id()]
    task_signals.end(inner, "SUCCESS")
    task_ids.append(context.request_id())
    task_signals.end(outer, "SUCCESS")

    assert task_ids == ["inner", "outer"]
    assert context.current() is None
