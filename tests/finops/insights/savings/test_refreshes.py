"""How fresh clouds' recommendations are: on the page, in the tool and in data health; and asked for now."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from pytest_django import Settings

from accounts.models import Account, User
from finops.connections import services as connections
from finops.connections.models import CostConnection
from finops.costs.models import CostSource
from finops.insights.data_health import data_health
from finops.insights.models import ImportedSaving, RecommendationRefresh
from finops.insights.savings.queries import list_savings
from finops.insights.savings.schemas import SavingsQuery
from finops.insights.savings.services import (
    has_refreshable_source,
    import_recommendations,
    refresh_recommendations,
    refreshable_sources,
    request_refreshes,
)
from finops.insights.tasks import find_recommendations_due, refresh_recommendations_of
from finops.lib import clock
from tests.cast import ACTOR, Cast
from tests.factories.costs import add_source, store_lines
from tests.finops.connections.replay_server import ReplayServer, Reply
from tests.finops.insights.savings.bills import NOON, volume
from tests.finops.insights.savings.cloud_apis import (
    OTHER_SUBSCRIPTION,
    SUBSCRIPTION,
    TENANT,
    ArmApi,
    advice,
    connect_azure,
    connect_google,
    machine_lines,
)
from tests.finops.insights.savings.hub_files import as_csv, row
from tests.mcpserver.mcp_client import McpClient, mint
from tests.pages import csv_rows, text_of

ClientFor = Callable[[User], Client]
PAGE = "/a/acme/savings/"


@pytest.fixture
def api(replay: ReplayServer, settings: Settings, sleeps: list[float]) -> ArmApi:
    settings.CONNECTOR_BASE_URLS = {"azure_advisor": replay.url, "azure_login": replay.url}
    arm = ArmApi(replay)
    arm.items[SUBSCRIPTION] = [advice(1)]
    return arm


@pytest.fixture
def source(acme: Account, cast: Cast, api: ArmApi) -> CostSource:
    """Its recommendations were read on 1 March."""
    cost_source = connect_azure(cast)
    store_lines(acme, cost_source, machine_lines("10"))
    refresh_recommendations(source=cost_source, actor=ACTOR)
    return cost_source


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What workers are asked for."""
    messages: list[tuple[object, ...]] = []

    def note(task: str, *arguments: int, expires: float) -> None:
        messages.append((task, *arguments))

    monkeypatch.setattr("finops.insights.savings.services.publish", note)
    return messages


def fail_later(api: ArmApi, acme: Account, source: CostSource) -> None:
    """The next day Azure is away."""
    path = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Advisor/recommendations"
    api.replay.routes[path] = lambda _request: Reply.of_json({}, 503)
    with clock.frozen(NOON + timedelta(days=1)):
        refresh_recommendations_of(acme.pk, source.pk)


def test_the_page_says_where_recommendations_are_from_and_of_when(
    cast: Cast, acme: Account, api: ArmApi, source: CostSource, client_for: ClientFor
) -> None:
    html = text_of(client_for(cast.viewer).get(PAGE))

    assert "Recommendations from your clouds" in html
    assert "Azure · 1 recommendation · read Mar 1, 12:00 PM by API" in " ".join(html.split())
    assert "Incomplete" not in html

    fail_later(api, acme, source)
    html = text_of(client_for(cast.viewer).get(PAGE))
    assert "read Mar 1, 12:00 PM by API" in " ".join(html.split())
    assert "Incomplete: Azure Advisor of Azure." in html
    assert "Not read on 2026-03-02: " in html


def test_the_csv_notes_recommendations_that_could_not_be_refreshed(
    cast: Cast, acme: Account, api: ArmApi, source: CostSource, client_for: ClientFor
) -> None:
    client = client_for(cast.viewer)
    assert "Incomplete" not in csv_rows(client.get(f"{PAGE}?format=csv"))[0]["data note"]

    fail_later(api, acme, source)

    row = csv_rows(client.get(f"{PAGE}?format=csv"))[0]
    assert row["data note"].startswith("Incomplete: Azure Advisor of 'Azure'. Not read on 2026-03-02: ")
    assert row["Note"] == ""


def test_an_assistant_sees_a_failed_refresh_in_the_first_sentence(
    cast: Cast, acme: Account, api: ArmApi, source: CostSource
) -> None:
    fail_later(api, acme, source)

    answer = McpClient(mint(cast)).ask("listSavingsRecommendations")

    assert "incomplete: Azure Advisor of 'Azure' is from 2026-03-01: its refresh failed." in answer["summary"]
    (fresh,) = answer["refreshes"]
    assert (fresh["provider"], fresh["origin"], fresh["recommendations"]) == ("Azure Advisor", "api", 1)
    assert fresh["as_of"].startswith("2026-03-01T12:00:00")
    assert fresh["incomplete"] is True


@pytest.mark.parametrize("status", ["open", "dismissed", "acted"])
def test_the_first_sentence_says_so_for_every_query(
    acme: Account, api: ArmApi, source: CostSource, status: str
) -> None:
    fail_later(api, acme, source)

    def first_sentence(**params: str) -> str:
        question = SavingsQuery(status=status, **params)  # type: ignore[arg-type]
        return list_savings(acme, question).summary.split("failed")[0]

    assert ". " not in first_sentence()
    assert "incomplete" in first_sentence()
    assert "incomplete" not in first_sentence(rule="weekends_off")


def test_data_health_says_what_recommendations_lack_and_leaves_the_status(
    acme: Account, api: ArmApi, source: CostSource
) -> None:
    (before,) = data_health(acme).connections
    fail_later(api, acme, source)

    (after,) = data_health(acme).connections

    assert "Recommendations of Azure Advisor: Not read on 2026-03-02" in after.reason
    assert "Recommendations read on" in after.reason
    assert (after.status, "Recommendations" in before.reason) == (before.status, False)


def test_a_file_says_when_it_was_imported(acme: Account) -> None:
    source = add_source(acme, volume("10"))
    import_recommendations(source=source, actor=ACTOR, file=io.BytesIO(as_csv([row()])))

    (fresh,) = list_savings(acme, SavingsQuery()).refreshes

    assert (fresh.provider, fresh.origin, fresh.as_of) == ("AWS Cost Optimization Hub", "file", NOON)
    assert (fresh.incomplete, fresh.problem) == (False, "")


# Asked for now


def test_a_member_has_them_read_now_and_not_twice_a_minute(
    cast: Cast, acme: Account, source: CostSource, queue: list[object], client_for: ClientFor
) -> None:
    client = client_for(cast.member)
    assert "Refresh recommendations" in client.get(PAGE).content.decode()
    answer = client.post(f"{PAGE}refresh/", follow=True)
    assert "Recommendations were refreshed less than a minute ago." in answer.content.decode()
    assert queue == []

    with clock.frozen(NOON + timedelta(minutes=2)):
        answer = client.post(f"{PAGE}refresh/", follow=True)

    assert "Refreshing recommendations of 1 source" in answer.content.decode()
    assert queue == [("insights.refresh_recommendations", acme.pk, source.pk)]


def test_a_viewer_has_nothing_read(
    cast: Cast, source: CostSource, queue: list[object], client_for: ClientFor
) -> None:
    client = client_for(cast.viewer)

    assert "Refresh recommendations" not in client.get(PAGE).content.decode()
    assert client.post(f"{PAGE}refresh/").status_code == 403
    assert queue == []


def test_uploaded_and_paused_sources_are_not_asked_about(cast: Cast, acme: Account) -> None:
    add_source(acme, volume("10"))
    assert not has_refreshable_source(acme)

    google = connect_google(cast)
    assert (acme.pk, google.pk) in refreshable_sources()
    connections.pause_connection(connection=CostConnection.objects.get(source=google), actor=cast.actor)

    assert refreshable_sources() == []
    assert request_refreshes(account=acme) == 0
    assert refresh_recommendations(source=google, actor=ACTOR) is None


def test_every_day_each_source_becomes_a_task(
    cast: Cast, acme: Account, source: CostSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[list[int]] = []
    monkeypatch.setattr(
        refresh_recommendations_of, "apply_async", lambda arguments, **_options: batches.append(arguments)
    )

    find_recommendations_due()

    assert batches == [[acme.pk, source.pk]]


def test_a_source_that_is_gone_is_left_alone(acme: Account, source: CostSource) -> None:
    source_id = source.pk
    CostSource.objects.filter(pk=source_id).delete()

    refresh_recommendations_of(acme.pk, source_id)

    assert not RecommendationRefresh.objects.exists()
    assert not ImportedSaving.objects.exists()


def test_two_connections_that_see_one_subscription_count_it_once(
    cast: Cast, acme: Account, api: ArmApi, source: CostSource
) -> None:
    """Each has the subscription in its bill, as two exports of one do."""
    second = connect_azure(cast, "Azure, actual cost")
    store_lines(acme, second, machine_lines("10"))
    api.items[OTHER_SUBSCRIPTION] = [advice(9, "web-9", OTHER_SUBSCRIPTION)]

    refresh_recommendations(source=second, actor=ACTOR)

    assert ImportedSaving.objects.count() == 1
    rows = list_savings(acme, SavingsQuery(rule="azure_advisor")).recommendations
    assert [each.source for each in rows] == ["Azure"]
    assert f"/{TENANT}/" in " ".join(api.replay.paths())
