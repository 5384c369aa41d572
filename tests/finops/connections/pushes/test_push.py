"""Pushing a billing month of cost: in one call or in parts, and how it takes the place of what the source had."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import AuditEntry
from finops.connections.services import pushes
from finops.costs.models import CostImport
from tests.cast import Cast
from tests.finops.connections.pushes.push_steps import (
    MAY,
    MONTHS,
    PUSHES,
    CostPushClient,
    create_cost_client,
    credential_of,
    csv_rows,
    push_of,
    row,
    run_pushes,
)

NO_ID = "6f1b2c51-41a2-43bb-a565-cf03d314b1c1"

pytestmark = pytest.mark.django_db


def error_of(answer: Any) -> tuple[int, str]:
    assert answer.json().keys() == {"error"}
    assert answer.json()["error"].keys() == {"code", "message"}
    return answer.status_code, answer.json()["error"]["message"]


def test_a_month_comes_in_one_call(cost_client: CostPushClient) -> None:
    answer = cost_client.send("POST", f"{MONTHS}/{MAY}", {"rows": [row("1.5"), row("2.25")]})

    assert answer.status_code == 202
    assert answer.json()["status"] == "queued"
    assert [part["format"] for part in answer.json()["parts"]] == ["json"]
    run_pushes()
    assert cost_client.billed() == {MAY: Decimal("3.75")}


def test_a_month_comes_in_parts_that_count_together(cost_client: CostPushClient) -> None:
    push = cost_client.open()
    assert cost_client.put(push, 2, csv_rows("10")).status_code == 200
    assert cost_client.put(push, 1, {"rows": [row("0.5")]}).status_code == 200
    run_pushes()
    assert cost_client.billed() == {}

    assert cost_client.commit(push, 2).status_code == 202
    run_pushes()

    status = cost_client.status(push)
    assert (status["status"], status["rows"], status["error"]) == ("done", 2, None)
    assert status["totals"] == [{"currency": "USD", "billed_cost": "10.5", "effective_cost": "10.5"}]
    assert cost_client.billed() == {MAY: Decimal("10.5")}
    assert CostImport.objects.unscoped().get().actor_label.startswith("Cost key fcst_")


def test_a_month_is_replaced_whole_and_others_stay(cost_client: CostPushClient) -> None:
    april = {"BillingPeriodStart": "2026-04-01T00:00:00Z", "ChargePeriodStart": "2026-04-02T00:00:00Z"}
    cost_client.push_month({"rows": [row("7", **april)]}, month="2026-04")
    cost_client.push_month({"rows": [row("1"), row("2")]})

    cost_client.push_month({"rows": [row("30")]})

    assert cost_client.billed() == {"2026-04": Decimal(7), MAY: Decimal(30)}


def test_no_row_empties_the_month(cost_client: CostPushClient) -> None:
    cost_client.push_month({"rows": [row("5")]})

    status = cost_client.push_month({"rows": []})

    assert (status["status"], status["rows"], status["totals"]) == ("done", 0, [])
    assert cost_client.billed() == {}


def test_the_same_number_again_takes_the_place_of_the_part(cost_client: CostPushClient) -> None:
    push = cost_client.open()
    cost_client.put(push, 1, csv_rows("1"))
    cost_client.put(push, 1, csv_rows("2", "3"))
    cost_client.commit(push, 1)
    run_pushes()

    assert cost_client.billed() == {MAY: Decimal(5)}


def test_a_commit_names_what_is_missing_and_what_is_more(cost_client: CostPushClient) -> None:
    push = cost_client.open()
    cost_client.put(push, 2, csv_rows("1"))
    cost_client.put(push, 5, csv_rows("2"))

    assert error_of(cost_client.commit(push, 5)) == (
        409,
        "Parts 1, 3 and 4 are missing. Send the missing parts, then commit again.",
    )
    assert error_of(cost_client.commit(push, 1))[0] == 409
    cost_client.put(push, 1, csv_rows("1"))
    assert error_of(cost_client.commit(push, 2)) == (
        409,
        "Part 5 is not in the commit. Commit with 5 parts, or cancel the push.",
    )
    assert cost_client.status(push)["status"] == "open"


@pytest.mark.parametrize("parts", [0, -1, 1_001, 10**30])
def test_a_commit_of_no_part_or_too_many_is_refused(cost_client: CostPushClient, parts: int) -> None:
    push = cost_client.open()

    assert error_of(cost_client.commit(push, parts))[0] == 400
    assert cost_client.status(push)["status"] == "open"


def test_a_commit_twice_is_once(cost_client: CostPushClient) -> None:
    push = cost_client.open()
    cost_client.put(push, 1, csv_rows("4"))

    assert [cost_client.commit(push, 1).status_code for _ in range(2)] == [202, 202]
    run_pushes()
    assert cost_client.commit(push, 1).json()["status"] == "done"
    run_pushes()
    assert cost_client.billed() == {MAY: Decimal(4)}
    assert CostImport.objects.unscoped().count() == 1
    assert error_of(cost_client.commit(push, 2))[0] == 409


def test_the_last_commit_of_two_pushes_of_a_month_stays(cost_client: CostPushClient) -> None:
    first, second = cost_client.open(), cost_client.open()
    cost_client.put(first, 1, csv_rows("1"))
    cost_client.put(second, 1, csv_rows("2"))
    cost_client.commit(second, 1)
    cost_client.commit(first, 1)

    run_pushes()

    assert cost_client.billed() == {MAY: Decimal(1)}


def test_a_row_of_another_month_is_refused_with_row_and_value(cost_client: CostPushClient) -> None:
    cost_client.push_month({"rows": [row("5")]})
    other = row("1", BillingPeriodStart="2026-06-01T00:00:00Z")

    status = cost_client.push({"rows": [row("1"), other]})

    assert status["status"] == "failed"
    assert status["error"].startswith(
        "part-1, row 2, column BillingPeriodStart: '2026-06-01T00:00:00Z' is not of 2026-05."
    )
    assert cost_client.billed() == {MAY: Decimal(5)}


@pytest.mark.parametrize("make", [lambda: csv_rows("1", BillingPeriodStart="2026-04-01T00:00:00Z")])
def test_a_whole_file_of_another_month_is_refused(
    cost_client: CostPushClient, make: Callable[[], bytes]
) -> None:
    status = cost_client.push(make())

    assert status["status"] == "failed"
    assert "'2026-04-01T00:00:00Z' is not of 2026-05" in status["error"]
    assert cost_client.billed() == {}


def test_rows_of_another_dataset_are_refused(cost_client: CostPushClient) -> None:
    columns = (
        "ContractCommitmentId,ContractId,ContractCommitmentCategory,ContractCommitmentType,"
        "ContractCommitmentPeriodStart,ContractCommitmentPeriodEnd,ContractPeriodStart,ContractPeriodEnd,"
        "ContractCommitmentCost,BillingCurrency"
    )
    values = "c-1,k-1,Spend,Spend,2026-01-01,2027-01-01,2026-01-01,2027-01-01,1000,USD"

    status = cost_client.push(f"{columns}\n{values}\n")

    assert status["status"] == "failed"
    assert cost_client.billed() == {}


def test_a_month_has_a_total_a_currency(cost_client: CostPushClient) -> None:
    status = cost_client.push({"rows": [row("1.10"), row("2.000000000000000001", BillingCurrency="EUR")]})

    assert status["totals"] == [
        {"currency": "EUR", "billed_cost": "2.000000000000000001", "effective_cost": "2.000000000000000001"},
        {"currency": "USD", "billed_cost": "1.1", "effective_cost": "1.1"},
    ]


def test_a_push_is_canceled_before_it_runs_and_not_after(cost_client: CostPushClient) -> None:
    push = cost_client.open()
    cost_client.put(push, 1, csv_rows("1"))
    cost_client.commit(push, 1)

    assert [cost_client.send("DELETE", push).json()["status"] for _ in range(2)] == ["canceled", "canceled"]
    run_pushes()
    assert cost_client.billed() == {}
    assert error_of(cost_client.put(push, 1, csv_rows("1")))[0] == 409
    assert error_of(cost_client.commit(push, 1))[0] == 409

    done = cost_client.push_month({"rows": [row("1")]})
    assert error_of(cost_client.send("DELETE", f"{PUSHES}/{done['id']}")) == (
        409,
        "This push is done and can no longer be canceled.",
    )


def test_the_newest_fifty_are_listed(cost_client: CostPushClient) -> None:
    credential = credential_of(cost_client)
    ids = []
    for _ in range(51):
        push = pushes.open_push(credential=credential, month=date(2026, 5, 1))
        pushes.cancel_push(credential=credential, push_id=push.public_id)
        ids.append(str(push.public_id))

    listing = cost_client.send("GET", PUSHES).json()["pushes"]

    assert [each["id"] for each in listing] == ids[:0:-1]


def test_a_source_has_twenty_open_pushes_at_most(cost_client: CostPushClient) -> None:
    for _ in range(pushes.MAX_OPEN):
        cost_client.open()

    assert error_of(cost_client.send("POST", PUSHES, {"month": MAY})) == (
        409,
        "20 pushes of this source are open. Commit or cancel one of them.",
    )


def test_a_strangers_push_is_not_there(cast: Cast, cost_client: CostPushClient) -> None:
    stranger = create_cost_client(cast, cast.other_account, "Hers")
    second = create_cost_client(cast, name="Another source of the account")
    push = cost_client.open()

    for other in (stranger, second):
        answers = [
            other.send("GET", push),
            other.send("DELETE", push),
            other.put(push, 1, csv_rows("1")),
            other.commit(push, 1),
        ]
        assert [error_of(answer)[0] for answer in answers] == [404] * 4
        assert other.send("GET", PUSHES).json() == {"pushes": []}
    assert cost_client.status(push)["parts"] == []


@pytest.mark.parametrize("name", ["1", "x", NO_ID, "0" * 500, "../../etc", "%00"])
def test_an_invalid_id_is_not_there(cost_client: CostPushClient, name: str) -> None:
    assert error_of(cost_client.send("GET", f"{PUSHES}/{name}"))[0] == 404


@pytest.mark.parametrize(
    "month",
    [
        "2026-13",
        "2026-5",
        "202605",
        "2026-05-01",
        "",
        "May",
        "\u0662\u0660\u0662\u0666-05",
        "0001-01",
        "9999-12",
        None,
        5,
    ],
)
def test_an_invalid_month_is_refused(cost_client: CostPushClient, month: Any) -> None:
    assert error_of(cost_client.send("POST", PUSHES, {"month": month}))[0] == 400


@pytest.mark.parametrize("number", ["0", "-1", "1001", "x", "1.5", "9" * 300])
def test_an_invalid_number_is_refused(cost_client: CostPushClient, number: str) -> None:
    push = cost_client.open()

    assert error_of(cost_client.send("PUT", f"{push}/parts/{number}", csv_rows("1")))[0] == 400


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"month": "2026-05", "x": 1}', b"\xff", b'"2026-05"']
)
def test_a_body_that_is_no_such_object_is_refused(cost_client: CostPushClient, body: bytes) -> None:
    assert error_of(cost_client.send("POST", PUSHES, body))[0] == 400


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", PUSHES, "GET, POST"),
        ("POST", f"{PUSHES}/{NO_ID}", "GET, DELETE"),
        ("GET", f"{PUSHES}/{NO_ID}/commit", "POST"),
        ("POST", f"{PUSHES}/{NO_ID}/parts/1", "PUT"),
        ("GET", f"{MONTHS}/{MAY}", "POST"),
        ("OPTIONS", f"{MONTHS}/{MAY}", "POST"),
    ],
)
def test_another_method_gets_the_list_of_allowed_methods(
    cost_client: CostPushClient, method: str, path: str, allowed: str
) -> None:
    answer = cost_client.send(method, path)

    assert error_of(answer)[0] == 405
    assert answer.headers["Allow"] == allowed


@pytest.mark.parametrize("path", ["/api/costs/nothing", "/api/costs/months"])
def test_another_path_is_404_in_json_and_401_without_a_key(cost_client: CostPushClient, path: str) -> None:
    assert error_of(cost_client.send("GET", path))[0] == 404
    assert error_of(cost_client.send("GET", path, authorization="Bearer no"))[0] == 401


def test_an_account_has_a_rate(cost_client: CostPushClient, settings: Any) -> None:
    settings.COST_PUSH_RATE_LIMIT_PER_MINUTE = 2
    answers = [cost_client.send("GET", PUSHES) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert [answer.headers["RateLimit-Remaining"] for answer in answers] == ["1", "0", "0"]
    assert int(answers[2].headers["Retry-After"]) > 0


def test_the_pusher_is_in_the_audit_log(cast: Cast, cost_client: CostPushClient) -> None:
    status = cost_client.push_month({"rows": [row("1")]})

    entries = {entry.action: entry for entry in AuditEntry.objects.unscoped().filter(account=cast.account)}
    assert entries["cost_push.commit"].detail == {"push": status["id"], "month": MAY, "parts": 1}
    assert entries["cost_push.commit"].actor_label.startswith("Cost key fcst_")
    assert cost_client.key not in str([entry.detail for entry in entries.values()])
    assert push_of(cost_client).cost_import is not None
