"""Recommendations of Azure Advisor by its API: all subscriptions of the bill, each purchase and each machine once."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from functools import partial
from typing import Any

import pytest
from pytest_django import Settings

from accounts.models import Account
from finops.connections.connector import AccessError, SourceError, SourceUnavailable
from finops.connections.connectors import connector_of
from finops.connections.services import check_config
from finops.insights.models import ImportedSaving, RecommendationRefresh
from finops.insights.savings.queries import list_savings
from finops.insights.savings.schemas import Recommendation, SavingsQuery
from finops.insights.savings.services import RecommendationImport, refresh_recommendations
from finops.insights.tasks import refresh_recommendations_of
from tests.cast import ACTOR, Cast
from tests.factories.costs import store_lines
from tests.finops.connections.replay_server import ReplayRequest, ReplayServer, Reply
from tests.finops.insights.savings.cloud_apis import (
    CLIENT,
    OTHER_SUBSCRIPTION,
    SECRET,
    SUBSCRIPTION,
    TENANT,
    ArmApi,
    advice,
    connect_azure,
    machine_id,
    machine_lines,
    purchase,
)


@pytest.fixture
def api(replay: ReplayServer, settings: Settings, sleeps: list[float]) -> ArmApi:
    settings.CONNECTOR_BASE_URLS = {"azure_advisor": replay.url, "azure_login": replay.url}
    return ArmApi(replay)


def _always(reply: Reply, _request: ReplayRequest) -> Reply:
    return reply


def refresh(source: Any) -> RecommendationImport:
    result = refresh_recommendations(source=source, actor=ACTOR)
    assert result is not None
    return result


def advisor_savings(account: Account) -> list[Recommendation]:
    return list_savings(account, SavingsQuery(rule="azure_advisor")).recommendations


def test_all_pages_of_the_bills_subscriptions_become_recommendations(
    api: ArmApi, acme: Account, cast: Cast
) -> None:
    """A twelfth of the year, to 18 decimals; the machine as the bill spells and prices it."""
    source = connect_azure(cast)
    store_lines(acme, source, machine_lines("10"))
    api.items[SUBSCRIPTION] = [advice(1), advice(2, "web-2"), advice(3, "web-3", annualSavingsAmount="600")]
    assert (refresh(source).kept, len(advisor_savings(acme))) == (3, 3)
    first = next(each for each in advisor_savings(acme) if "web-1" in each.title)
    monthly = (Decimal("1200.50") / 12).quantize(Decimal("1e-18"), ROUND_HALF_EVEN)
    assert (first.monthly_saving, first.monthly_cost, first.currency) == (monthly, Decimal(300), "USD")
    assert first.title == "Right-size or shutdown underutilized virtual machines: web-1"
    assert first.advice == "Standard_D4s_v3 → Standard_D2s_v3."
    assert "1200.5 a year ÷ 12" in first.formula
    assert "7 days" in first.formula
    assert first.evidence[0].resource == machine_id("web-1").lower()
    assert (first.account, first.provider, first.source) == ("Production", "Microsoft Azure", "Azure")
    assert all("elsewhere" not in path for path in api.replay.paths())


def test_a_subscription_that_the_bill_does_not_have_is_not_queried(
    api: ArmApi, acme: Account, cast: Cast
) -> None:
    source = connect_azure(cast)
    assert refresh_recommendations(source=source, actor=ACTOR) is None
    store_lines(acme, source, machine_lines("10", account_id=f"/subscriptions/{SUBSCRIPTION.upper()}"))
    api.items = {SUBSCRIPTION: [advice(1)], OTHER_SUBSCRIPTION: [advice(2)]}
    assert refresh(source).kept == 1
    assert not any(OTHER_SUBSCRIPTION in path for path in api.replay.paths())


def test_a_purchase_in_several_terms_and_lookbacks_counts_once(
    api: ArmApi, acme: Account, cast: Cast
) -> None:
    source = connect_azure(cast)
    store_lines(acme, source, machine_lines("100"))
    api.items[SUBSCRIPTION] = [
        purchase(at, annual, term=term, lookbackPeriod=days)
        for at, (annual, term, days) in enumerate(
            [("1200", "P1Y", "7"), ("1100", "P1Y", "30"), ("2400", "P3Y", "7"), ("2400", "P3Y", "60")]
        )
    ]
    refresh(source)
    (row,) = advisor_savings(acme)
    assert (row.monthly_saving, row.title) == (
        Decimal(200),
        "Reserve: VirtualMachines Standard_D4s_v3 westeurope",
    )
    assert "For 3 years, by the usage of 60 days." in row.advice
    assert "largest of 4 alternatives of Azure" in row.advice
    assert list_savings(acme, SavingsQuery()).totals[0].monthly_saving == 200


@pytest.mark.parametrize(
    ("plan", "expected_plan", "saving"), [("5000", "Reserve", 600), ("9600", "Buy a savings plan", 800)]
)
def test_the_larger_of_reservations_and_a_savings_plan_for_the_same_compute_counts(
    api: ArmApi, acme: Account, cast: Cast, plan: str, expected_plan: str, saving: int
) -> None:
    """A reserved database is no compute that the plan covers: it counts beside."""
    source = connect_azure(cast)
    store_lines(acme, source, machine_lines("100"))
    api.items[SUBSCRIPTION] = [
        purchase(1, "4800"),
        purchase(2, "2400", displaySKU="Standard_E8s_v5"),
        purchase(3, plan, plan=True),
        purchase(4, "1200", reservedResourceType="SqlDatabases", displaySKU="SQLDB_GP_Gen5"),
    ]
    refresh(source)
    rows = [each for each in advisor_savings(acme) if "Sql" not in each.title]
    assert {each.title.split(":")[0] for each in rows} == {expected_plan}
    assert sum(each.monthly_saving or 0 for each in rows) == saving
    assert any("Replaces " in each.advice for each in rows)
    assert list_savings(acme, SavingsQuery(rule="azure_advisor")).totals[0].monthly_saving == saving + 100


def test_a_commitment_is_lowered_by_the_compute_that_other_recommendations_count(
    api: ArmApi, acme: Account, cast: Cast
) -> None:
    """web-1 is 75 of 100 USD a day of compute, and may shrink: a quarter of the plan's 400 USD a month stays."""
    source = connect_azure(cast)
    store_lines(acme, source, [*machine_lines("75"), *machine_lines("25", "web-2")])
    api.items[SUBSCRIPTION] = [advice(1, annualSavingsAmount="12000"), purchase(2, "4800", plan=True)]
    refresh(source)
    plan = next(each for each in advisor_savings(acme) if "plan" in each.title)
    assert plan.monthly_saving == 100
    assert plan.lowered == "Reduced by 75.0 %, which is in other recommendations."
    assert list_savings(acme, SavingsQuery()).totals[0].monthly_saving == 1100


def test_a_recommendation_for_all_subscriptions_replaces_those_of_each(
    api: ArmApi, acme: Account, cast: Cast
) -> None:
    source = connect_azure(cast)
    store_lines(acme, source, [*machine_lines("100"), *machine_lines("50", "web-2", OTHER_SUBSCRIPTION)])
    api.items = {
        SUBSCRIPTION: [purchase(1, "1200", scope="Single"), purchase(2, "3600", scope="Shared")],
        OTHER_SUBSCRIPTION: [
            purchase(3, "1200", subscription=OTHER_SUBSCRIPTION, scope="Single"),
            purchase(4, "3600", subscription=OTHER_SUBSCRIPTION, scope="Shared"),
        ],
    }
    refresh(source)
    assert [each.monthly_saving for each in advisor_savings(acme)] == [Decimal(300)]


def test_a_resource_counts_once_beside_our_own_rules(api: ArmApi, acme: Account, cast: Cast) -> None:
    """The bill has the machine in lower case, and as one of an older generation."""
    source = connect_azure(cast)
    store_lines(acme, source, machine_lines("10", usage_type="D4 v2/DS4 v2", **{"tag:env": "dev"}))
    assert [each.rule for each in list_savings(acme, SavingsQuery()).recommendations] == ["weekends_off"]
    api.items[SUBSCRIPTION] = [advice(1)]
    refresh(source)
    (row,) = list_savings(acme, SavingsQuery()).recommendations
    assert row.rule == "azure_advisor"
    assert "weekends_off" in row.instead_of


def test_recommendations_dismissed_postponed_or_done_at_azure_are_not_open(
    api: ArmApi, acme: Account, cast: Cast
) -> None:
    source = connect_azure(cast)
    store_lines(acme, source, machine_lines("10"))
    dismissed, done, security = advice(2), advice(3), advice(4)
    dismissed["properties"]["suppressionIds"] = ["00000000-0000-0000-0000-00000000aaaa"]
    done["properties"]["tracked"] = True
    security["properties"]["category"] = "Security"
    api.items[SUBSCRIPTION] = [advice(1), dismissed, done, security]
    refresh(source)
    assert [each.recommendation_id[-1] for each in ImportedSaving.objects.all()] == ["1"]


@pytest.mark.parametrize(
    ("extended", "problem"),
    [
        ({"annualSavingsAmount": None, "savingsAmount": None}, "names no amount"),
        ({"annualSavingsAmount": "-1"}, "less than 0"),
        ({"annualSavingsAmount": "a lot"}, "annualSavingsAmount is 'a lot', which is not a number."),
        ({"savingsCurrency": "Euro"}, "not an ISO 4217 currency"),
        ({"savingsCurrency": None}, "not an ISO 4217 currency"),
    ],
)
def test_a_recommendation_without_an_amount_is_left_out_and_named(
    api: ArmApi, acme: Account, cast: Cast, extended: dict[str, Any], problem: str
) -> None:
    source = connect_azure(cast)
    store_lines(acme, source, machine_lines("10"))
    api.items[SUBSCRIPTION] = [advice(1), advice(2, **extended)]
    result = refresh(source)
    assert (result.kept, result.left_out) == (1, 1)
    assert problem in result.problems[0]
    assert "1 names no readable amount." in list_savings(acme, SavingsQuery()).refreshes[0].problem


def test_a_month_is_used_where_azure_names_no_year(api: ArmApi, acme: Account, cast: Cast) -> None:
    source = connect_azure(cast)
    store_lines(acme, source, machine_lines("10"))
    api.items[SUBSCRIPTION] = [advice(1, annualSavingsAmount=None), advice(2, "web-2", savingsCurrency="EUR")]
    refresh(source)
    totals = {each.currency: each for each in list_savings(acme, SavingsQuery()).totals}
    assert totals["USD"].monthly_saving == 99
    assert totals["EUR"].recommendations == 1


# What the other side does


def test_a_subscription_that_may_not_be_read_keeps_what_it_had_and_is_said_to_lack(
    api: ArmApi, acme: Account, cast: Cast
) -> None:
    source = connect_azure(cast)
    store_lines(acme, source, [*machine_lines("10"), *machine_lines("9", "web-2", OTHER_SUBSCRIPTION)])
    api.items = {SUBSCRIPTION: [advice(1)], OTHER_SUBSCRIPTION: [advice(2, "web-2", OTHER_SUBSCRIPTION)]}
    refresh(source)
    api.denied = {OTHER_SUBSCRIPTION}
    api.items[SUBSCRIPTION] = [advice(3, "web-3")]
    result = refresh(source)
    assert {each.title.split(": ")[1] for each in advisor_savings(acme)} == {"web-2", "web-3"}
    (gap,) = result.gaps
    assert "Assign the app 11111111-2222-3333-4444-555555555555 the role Reader" in gap
    assert "Microsoft.Advisor/recommendations/read" in gap
    answer = list_savings(acme, SavingsQuery())
    assert "incomplete: Azure Advisor of 'Azure' lacks 1 account." in answer.summary.split(" Largest")[0]
    assert answer.refreshes[0].incomplete


def test_a_refused_refresh_keeps_all_and_says_of_when_it_is(api: ArmApi, acme: Account, cast: Cast) -> None:
    source = connect_azure(cast)
    store_lines(acme, source, machine_lines("10"))
    api.items[SUBSCRIPTION] = [advice(1)]
    refresh(source)
    api.denied = {SUBSCRIPTION}
    with pytest.raises(AccessError):
        refresh(source)
    refresh_recommendations_of(acme.pk, source.pk)
    assert len(advisor_savings(acme)) == 1
    answer = list_savings(acme, SavingsQuery())
    assert "incomplete: Azure Advisor of 'Azure' is from 2026-03-01: its refresh failed" in answer.summary
    (fresh,) = answer.refreshes
    assert (fresh.origin, fresh.recommendations, fresh.incomplete) == ("api", 1, True)
    assert "Recommendations read on 2026-03-01 still count." in fresh.problem


def test_credentials_that_never_might_read_them_lack_nothing(api: ArmApi, acme: Account, cast: Cast) -> None:
    """They are optional: the page says how, the first sentence nothing."""
    source = connect_azure(cast)
    store_lines(acme, source, machine_lines("10"))
    api.denied = {SUBSCRIPTION}
    refresh_recommendations_of(acme.pk, source.pk)
    answer = list_savings(acme, SavingsQuery())
    assert "incomplete" not in answer.summary
    assert (answer.refreshes[0].as_of, answer.refreshes[0].incomplete) == (None, False)
    assert "role Reader" in answer.refreshes[0].problem


def test_an_expired_secret_is_reported_and_never_shown(api: ArmApi, acme: Account, cast: Cast) -> None:
    source = connect_azure(cast)
    store_lines(acme, source, machine_lines("10"))
    message = f"AADSTS7000222: The provided client secret keys for app '{CLIENT}' are expired: {SECRET}."
    api.replay.routes[f"/{TENANT}/oauth2/v2.0/token"] = lambda _request: Reply.of_json(
        {"error": "invalid_client", "error_description": message}, 401
    )
    with pytest.raises(AccessError, match=r"has expired\. Add a new client secret") as error:
        refresh(source)
    refreshed = RecommendationRefresh.objects.get(source=source)
    assert refreshed.is_denied
    assert SECRET not in f"{error.value.message}{refreshed.error}"


def test_a_busy_api_is_retried_after_the_time_that_it_names(
    api: ArmApi, acme: Account, cast: Cast, sleeps: list[float]
) -> None:
    source = connect_azure(cast)
    store_lines(acme, source, machine_lines("10"))
    api.items[SUBSCRIPTION] = [advice(1)]
    path = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Advisor/recommendations"
    listing = api.replay.routes[path]
    faults = [
        Reply.of_json({"error": {"code": "TooManyRequests"}}, 429, Retry_After="3"),
        Reply(200, b'{"value": [{"name": "x", "prop', cut=0.5),
    ]
    api.replay.routes[path] = lambda request: faults.pop(0) if faults else listing(request)
    assert refresh(source).kept == 1
    assert sum(sleeps) >= 3


def test_an_api_that_is_down_leaves_the_rest_unread(api: ArmApi, acme: Account, cast: Cast) -> None:
    """Nothing of the costliest was lost, and nobody waits for a second subscription of a cloud that is away."""
    source = connect_azure(cast)
    store_lines(acme, source, [*machine_lines("90"), *machine_lines("9", "web-2", OTHER_SUBSCRIPTION)])
    api.items = {SUBSCRIPTION: [advice(1)], OTHER_SUBSCRIPTION: [advice(2, "web-2", OTHER_SUBSCRIPTION)]}
    refresh(source)
    path = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Advisor/recommendations"
    api.replay.routes[path] = lambda _request: Reply.of_json({}, 503)
    before = len(api.replay.requests)
    with pytest.raises(SourceUnavailable, match="HTTP 503"):
        refresh(source)
    assert not any(OTHER_SUBSCRIPTION in each for each in api.replay.paths()[before:])
    assert len(advisor_savings(acme)) == 2


def test_a_next_page_without_end_or_token_is_refused(api: ArmApi, acme: Account, cast: Cast) -> None:
    source = connect_azure(cast)
    store_lines(acme, source, machine_lines("10"))
    path = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Advisor/recommendations"
    for link, problem in (
        ("https://x.example/?%24skiptoken=1", "same page twice"),
        ("https://x.example/", "token"),
    ):
        reply = Reply.of_json({"value": [], "nextLink": link})
        api.replay.routes[path] = partial(_always, reply)
        with pytest.raises(SourceError, match=problem):
            refresh(source)


# Test connection


def findings(cast: Cast, api: ArmApi, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(type(connector_of("azure_exports")), "check", lambda _self, _config: [])
    values = {"account": "acmebilling", "container": "cost-exports", "tenant_id": TENANT}
    return check_config(
        account=cast.account,
        connector="azure_exports",
        values={**values, "client_id": CLIENT, "client_secret": SECRET},
    )


def test_a_check_names_the_missing_permission_and_that_it_is_optional(
    api: ArmApi, acme: Account, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [(each.is_ok, each.is_optional) for each in findings(cast, api, monkeypatch)] == [(True, True)] * 2
    api.denied = {SUBSCRIPTION}
    failed = findings(cast, api, monkeypatch)[-1]
    assert (failed.title, failed.is_ok, failed.is_optional) == (
        "Read recommendations of Azure Advisor",
        False,
        True,
    )
    assert "the role Reader on the subscription (Microsoft.Advisor/recommendations/read)" in failed.fix
    api.items = {}
    assert "It sees no subscription." in findings(cast, api, monkeypatch)[-1].fix


def test_a_sas_or_other_storage_sends_no_role_request(api: ArmApi, acme: Account, cast: Cast) -> None:
    sas = "https://acmebilling.blob.core.windows.net/cost-exports?sp=rl&sig=abc"
    for at, values in enumerate(
        ({"access": "sas_url", "sas_url": sas}, {"endpoint": "https://storage.example"})
    ):
        source = connect_azure(cast, f"Azure {at}", **values)
        store_lines(acme, source, machine_lines("10"))
        assert refresh_recommendations(source=source, actor=ACTOR) is None
    assert api.replay.requests == []
