"""Assistant activity in the browser's eyes: who sees what, filters, order, pages, CSV, one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from accounts.scoping import account_scope
from finops.activity.calls import CallRecord, store
from finops.activity.models import AssistantCall, CallOutcome
from finops.activity.queries import PAGE
from finops.lib import clock
from tests.cast import Cast
from tests.finops.activity.call_helpers import call_of, credential_of
from tests.pages import csv_rows

ClientFor = Callable[[User], Client]
URL = "/a/acme/assistant-activity/"


def get_html(client: Client, query: str = "") -> str:
    answer = client.get(f"{URL}{query}")
    assert answer.status_code == 200, answer.status_code
    return answer.content.decode()


def rows_of(client: Client, query: str = "") -> list[dict[str, str]]:
    """The CSV, which has what the list has."""
    answer = client.get(f"{URL}?format=csv&{query}")
    assert answer.status_code == 200
    return csv_rows(answer)


def arguments_of(client: Client, query: str = "") -> list[str]:
    return [row["Arguments"] for row in rows_of(client, query)]


def note(*calls: CallRecord) -> None:
    store(calls)


def newest_id(cast: Cast) -> int:
    with account_scope(cast.account):
        return AssistantCall.objects.latest("pk").pk


def test_an_account_without_calls_sees_how_to_connect_an_assistant(cast: Cast, client_for: ClientFor) -> None:
    page = get_html(client_for(cast.viewer))

    assert "No calls yet" in page
    assert 'href="/a/acme/settings/connected-apps/"' in page


def test_the_page_shows_the_newest_calls_with_all_that_is_known_of_them(
    cast: Cast, client_for: ClientFor
) -> None:
    key = credential_of(cast.account)
    note(
        call_of(key, "querySpend", {"period": "last_7_days"}, milliseconds=41.6, answer_bytes=7_012),
        call_of(key, "listBudgets", {}, outcome=CallOutcome.ERROR, problem="status: 'bad' does not exist."),
    )

    page = get_html(client_for(cast.viewer))

    for text in (
        "querySpend",
        "last_7_days",
        "42 ms",
        "7.0 kB",
        "Key 1 (fmcp_x",
        "Error",
        "status: &#x27;bad&#x27; does not exist.",
    ):
        assert text in page


@pytest.mark.parametrize("role", ["viewer", "member"])
def test_people_see_calls_with_keys_and_of_their_own_apps_alone(
    cast: Cast, client_for: ClientFor, role: str
) -> None:
    own_credential = credential_of(cast.account, number=1, person=cast.person(role))
    other = credential_of(cast.account, number=2, person=cast.admin)
    note(
        call_of(credential_of(cast.account), arguments={"by": "key"}),
        call_of(own_credential, "listTeams", arguments={"by": "me"}),
        call_of(other, "listBudgets", arguments={"by": "her"}),
    )
    client = client_for(cast.person(role))

    page = get_html(client)

    assert sorted(arguments_of(client)) == ['{"by":"key"}', '{"by":"me"}']
    assert "listTeams" in page
    assert "listBudgets" not in page
    assert "admin@example.com by claude.ai" not in page
    assert (
        "Tool and prompt calls by credential, with duration and size. You see calls of MCP "
        "keys and of your connected apps; admins see all."
    ) in " ".join(page.split())


def test_a_call_of_another_persons_app_is_not_found_but_by_admins(cast: Cast, client_for: ClientFor) -> None:
    note(call_of(credential_of(cast.account, person=cast.owner), arguments={"whose": "the owner's"}))
    url = f"{URL}{newest_id(cast)}/"

    assert client_for(cast.member).get(url).status_code == 404
    assert client_for(cast.stranger).get(url).status_code == 404
    answer = client_for(cast.admin).get(url)
    assert answer.status_code == 200
    assert "the owner&#x27;s" in answer.content.decode()


def test_admins_see_everybodys(cast: Cast, client_for: ClientFor) -> None:
    note(
        *(
            call_of(credential_of(cast.account, number=n, person=cast.person(role)), arguments={"n": n})
            for n, role in enumerate(("owner", "member", "viewer"))
        )
    )

    assert len(arguments_of(client_for(cast.admin))) == 3


def test_the_calls_of_another_account_are_nowhere(cast: Cast, client_for: ClientFor) -> None:
    note(call_of(credential_of(cast.other_account), "listTeams", {"secretive": 1}))

    page = get_html(client_for(cast.both))

    assert "No calls yet" in page
    assert arguments_of(client_for(cast.both)) == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("name=listTeams", ["3"]),
        ("credential=mcp_key:2", ["2"]),
        ("credential=mcp_key:3", []),
        ("credential=garbage", []),
        ("outcome=error", ["2"]),
        ("outcome=ok", ["4", "3", "1"]),
        ("days=1", ["4", "3"]),
        ("days=7", ["4", "3", "2"]),
        ("days=90", ["4", "3", "2", "1", "0"]),
        ("q=BigQuery", ["2"]),
        ("q=went%20wrong", ["2"]),
        ("q=bigquery%20nothing", []),
        ("q=%25", []),
        ("q=%00", ["4", "3", "2", "1"]),
        ("sort=at", ["1", "2", "3", "4"]),
        ("sort=-milliseconds", ["1", "4", "3", "2"]),
        ("sort=-answer_bytes", ["3", "4", "2", "1"]),
        ("name=querySpend&outcome=ok&days=1", ["4"]),
    ],
)
def test_the_list_filters_and_sorts_by_its_url(
    cast: Cast, client_for: ClientFor, query: str, expected: list[str]
) -> None:
    first, second = credential_of(cast.account, number=1), credential_of(cast.account, number=2)
    wrong: dict[str, Any] = {"outcome": CallOutcome.ERROR, "problem": "It went wrong."}
    noon = datetime(2026, 11, 20, 12, tzinfo=UTC)
    with clock.frozen(noon):
        note(
            call_of(first, days_ago=60, arguments={"n": 0}),
            call_of(first, days_ago=8, arguments={"n": 1}, milliseconds=900.0, answer_bytes=10),
            call_of(
                second,
                days_ago=2,
                arguments={"n": 2, "service": "BigQuery"},
                milliseconds=1.0,
                answer_bytes=20,
                **wrong,
            ),
            call_of(
                first,
                "listTeams",
                arguments={"n": 3},
                at=noon - timedelta(hours=1),
                milliseconds=2.0,
                answer_bytes=400,
            ),
            call_of(first, arguments={"n": 4}, milliseconds=30.0, answer_bytes=40),
        )

        rows = rows_of(client_for(cast.viewer), query)

    assert [row["Arguments"].partition(":")[2].strip("}").partition(",")[0] for row in rows] == expected


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("?days=0", "days"),
        ("?days=many", "days"),
        ("?outcome=odd", "outcome"),
        ("?sort=name", "sort"),
        ("?cursor=garbage", "cursor"),
        ("?days=99999999999999999999", "days"),
    ],
)
def test_a_url_that_cannot_be_read_says_what_is_wrong(
    cast: Cast, client_for: ClientFor, query: str, problem: str
) -> None:
    answer = client_for(cast.viewer).get(f"{URL}{query}")

    assert answer.status_code == 422
    assert problem in answer.content.decode()


def pages_of(client: Client, query: str) -> list[list[str]]:
    """The ids on each page, following its link to the next."""
    pages, cursor = [], ""
    while True:
        answer = client.get(f"{URL}?{query}&cursor={cursor}")
        calls = answer.context["calls"]
        pages.append([call.arguments for call in calls.rows])
        cursor = calls.next_cursor
        if not cursor:
            return pages


@pytest.mark.parametrize("sort", ["-at", "at", "-milliseconds", "-answer_bytes"])
def test_pages_follow_each_other_without_gap_or_repetition_even_where_values_are_equal(
    cast: Cast, client_for: ClientFor, sort: str
) -> None:
    key, moment = credential_of(cast.account), clock.now()
    calls = [
        call_of(
            key,
            arguments={"n": n},
            at=moment - timedelta(seconds=n // 40),
            milliseconds=n % 3 + 0.1,
            answer_bytes=n % 7,
        )
        for n in range(2 * PAGE + 3)
    ]
    note(*calls)

    pages = pages_of(client_for(cast.viewer), f"sort={sort}")

    assert [len(page) for page in pages] == [PAGE, PAGE, 3]
    assert len({row for page in pages for row in page}) == len(calls)


def test_a_cursor_belongs_to_its_question(cast: Cast, client_for: ClientFor) -> None:
    note(*(call_of(credential_of(cast.account), arguments={"n": n}) for n in range(PAGE + 1)))
    client = client_for(cast.viewer)
    cursor = client.get(URL).context["calls"].next_cursor

    assert client.get(f"{URL}?cursor={cursor}").status_code == 200
    assert client.get(f"{URL}?cursor={cursor}&outcome=ok").status_code == 422


def test_a_call_that_comes_while_one_pages_moves_nothing(cast: Cast, client_for: ClientFor) -> None:
    key = credential_of(cast.account)
    note(*(call_of(key, arguments={"n": n}, at=clock.now() - timedelta(hours=1)) for n in range(PAGE + 1)))
    client = client_for(cast.viewer)
    first = client.get(URL).context["calls"]
    note(call_of(key, arguments={"n": "new"}))

    second = client.get(f"{URL}?cursor={first.next_cursor}").context["calls"]

    assert not {row.pk for row in first.rows} & {row.pk for row in second.rows}
    assert [row.arguments for row in second.rows] == ['{"n":0}']


def test_the_strip_counts_days_tools_and_credentials(cast: Cast, client_for: ClientFor) -> None:
    first, second = credential_of(cast.account, number=1), credential_of(cast.account, number=2)
    note(
        *(call_of(first, milliseconds=10.0, answer_bytes=100) for _ in range(19)),
        call_of(second, milliseconds=1_000.0, answer_bytes=300, days_ago=1),
        call_of(second, "listTeams", outcome=CallOutcome.REFUSED, problem="No."),
    )

    statistics = client_for(cast.viewer).get(URL).context["statistics"]

    assert statistics.by_day[CallOutcome.OK][-2:] == [1, 19]
    assert statistics.by_day[CallOutcome.REFUSED][-1] == 1
    spend, teams = statistics.tools
    assert (spend.label, spend.calls, spend.failed, spend.answer_bytes) == ("querySpend", 20, 0, 2_200)
    assert spend.p50 == pytest.approx(10, rel=0.1)
    assert spend.p95 == pytest.approx(10, rel=0.1)
    assert (teams.label, teams.failed) == ("listTeams", 1)
    assert [(group.key, group.calls) for group in statistics.credentials] == [
        ("mcp_key:1", 19),
        ("mcp_key:2", 2),
    ]
    assert statistics.whole.calls == 21


def test_the_strip_counts_what_the_filters_choose_and_the_reader_may_see(
    cast: Cast, client_for: ClientFor
) -> None:
    note(
        call_of(credential_of(cast.account)),
        call_of(credential_of(cast.account), "listTeams"),
        call_of(credential_of(cast.account, person=cast.owner)),
    )

    whole = client_for(cast.viewer).get(f"{URL}?name=querySpend").context["statistics"].whole

    assert whole.calls == 1


def test_a_call_shows_its_arguments_to_read_and_leads_to_the_same_page_of_the_console(
    cast: Cast, client_for: ClientFor
) -> None:
    note(
        call_of(
            credential_of(cast.account), arguments={"filters": [{"dimension": "tag:env", "values": ["é"]}]}
        )
    )

    page = client_for(cast.viewer).get(f"{URL}{newest_id(cast)}/").content.decode()

    assert "&quot;filters&quot;: [\n    {\n      &quot;dimension&quot;: &quot;tag:env&quot;" in page
    assert "é" in page
    assert 'href="/a/acme/cost-explorer/?period=last_7_days"' in page
    assert "All calls with this credential" in page


def test_arguments_that_were_cut_say_so(cast: Cast, client_for: ClientFor) -> None:
    note(call_of(credential_of(cast.account), arguments={"note": "ä" * 5_000}))

    page = client_for(cast.viewer).get(f"{URL}{newest_id(cast)}/").content.decode()

    assert "Truncated to 4,000 bytes." in page


def test_markup_in_arguments_stays_text(cast: Cast, client_for: ClientFor) -> None:
    note(call_of(credential_of(cast.account), "<script>alert(1)</script>", {"x": "<img src=x>"}))
    client = client_for(cast.viewer)

    pages = get_html(client) + client.get(f"{URL}{newest_id(cast)}/").content.decode()

    assert "<script>alert" not in pages
    assert "<img src=x" not in pages


def test_the_csv_holds_every_call_and_no_formula(cast: Cast, client_for: ClientFor) -> None:
    key = credential_of(cast.account)
    note(*(call_of(key, arguments={"n": n}) for n in range(1_203)), call_of(key, "=1+1", {}))

    rows = rows_of(client_for(cast.viewer))

    assert len(rows) == 1_204
    assert len({row["Id"] for row in rows}) == 1_204
    assert [row["Name"] for row in rows if row["Name"] != "querySpend"] == ["'=1+1"]
    assert rows[0]["Console"].endswith("/a/acme/cost-explorer/?period=last_7_days")


def queries_of(client: Client, url: str) -> int:
    client.get(url)
    with CaptureQueriesContext(connection) as captured:
        client.get(url)
    return len(captured)


def test_the_page_asks_the_same_number_of_queries_for_many_calls(cast: Cast, client_for: ClientFor) -> None:
    client = client_for(cast.viewer)
    note(call_of(credential_of(cast.account)))
    before = queries_of(client, URL)
    many: Sequence[CallRecord] = [
        call_of(credential_of(cast.account, number=n % 9), f"tool{n % 20}", {"n": n}) for n in range(200)
    ]
    note(*many)

    assert queries_of(client, URL) == before
