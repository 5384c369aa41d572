"""Recommendations of Google Recommender by its API: every project of the bill, each resource and each commitment once."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import pytest
from pytest_django import Settings

from accounts.models import Account
from finops.connections.connector import AccessError, SourceUnavailable
from finops.connections.connectors import connector_of
from finops.connections.services import check_config
from finops.costs.models import CostSource
from finops.insights.models import ImportedSaving
from finops.insights.savings.queries import list_savings
from finops.insights.savings.recommender_api import SPEND_COMMITMENTS, USAGE_COMMITMENTS
from finops.insights.savings.schemas import Recommendation, SavingsQuery
from finops.insights.savings.services import RecommendationImport, refresh_recommendations
from tests.cast import ACTOR, Cast
from tests.factories.costs import store_lines
from tests.finops.connections.replay_server import ReplayServer, Reply
from tests.finops.insights.savings.cloud_apis import (
    BILLING_ACCOUNT,
    EMAIL,
    IDLE,
    PROJECT,
    GoogleApi,
    connect_google,
    hint,
    instance_lines,
    saves,
    service_account_key,
)


@pytest.fixture
def api(replay: ReplayServer, settings: Settings, sleeps: list[float]) -> GoogleApi:
    settings.CONNECTOR_BASE_URLS = {
        "google_recommender": replay.url,
        "google_recommender_token": replay.url,
    }
    return GoogleApi(replay)


@pytest.fixture
def source(acme: Account, cast: Cast) -> CostSource:
    """Ten USD a day of vm-1 in one project."""
    row = connect_google(cast)
    store_lines(acme, row, instance_lines("10"))
    return row


def refresh(source: CostSource) -> RecommendationImport:
    result = refresh_recommendations(source=source, actor=ACTOR)
    assert result is not None
    return result


def recommender_savings(account: Account) -> list[Recommendation]:
    return list_savings(account, SavingsQuery(rule="google_recommender")).recommendations


def commitment(number: int, units: str, /, **values: Any) -> dict[str, Any]:
    return hint(
        number,
        description="Save cost by purchasing a 1 year commitment for 12 vCPUs of N1.",
        recommenderSubtype="COST_OPTIMIZATION_RECOMMENDATION",
        content={"operationGroups": []},
        targetResources=[],
        primaryImpact=saves(units),
        **values,
    )


def test_all_pages_of_every_location_become_recommendations(
    api: GoogleApi, acme: Account, source: CostSource
) -> None:
    """The bill calls vm-1 by number: its cost and spelling are found by its name."""
    api.put(hint(1), hint(2, "vm-2"), hint(3, "vm-3"))
    api.put(hint(4, "vm-4"), location="us-east1-c")
    assert (refresh(source).kept, len(recommender_savings(acme))) == (4, 4)
    first = next(each for each in recommender_savings(acme) if each.title.endswith("vm-1"))
    assert (first.monthly_saving, first.monthly_cost, first.currency) == (
        Decimal("40.5"),
        Decimal(300),
        "USD",
    )
    assert first.title == "Change machine type: vm-1"
    assert first.advice == "Save cost by changing machine type from n1-standard-4 to e2-standard-2."
    assert first.formula.endswith("40.5 in 30 days, as 30 days.")
    assert first.evidence[0].resource.endswith("/instances/37298")
    assert (first.account, first.provider, first.source) == ("Acme production", "Google Cloud", "Google")


def test_money_is_exact_whatever_its_parts_and_days(
    api: GoogleApi, acme: Account, source: CostSource
) -> None:
    """A year's projection counts 30 of its 365 days; Google's own conversion to the bill's currency goes first."""
    euros = {"currencyCode": "EUR", "units": "-7", "nanos": -250_000_001}
    api.put(
        hint(1, primaryImpact=saves("-365", -10_000_000, days=365)),
        hint(2, "vm-2", primaryImpact=saves("-8", 0, costInLocalCurrency=euros)),
        hint(3, "vm-3", primaryImpact=saves("0", -1)),
    )
    refresh(source)
    amounts = {
        row.resource_id[-4:]: (row.monthly_saving, row.currency) for row in ImportedSaving.objects.all()
    }
    year = (Decimal("365.01") * 30 / 365).quantize(Decimal("1e-18"), ROUND_HALF_EVEN)
    assert amounts == {
        "vm-1": (year, "USD"),
        "vm-2": (Decimal("7.250000001"), "EUR"),
        "vm-3": (Decimal("0.000000001"), "USD"),
    }


def test_a_recommendation_without_a_lower_cost_is_no_saving(
    api: GoogleApi, acme: Account, source: CostSource
) -> None:
    api.put(
        hint(1),
        hint(2, "vm-2", primaryImpact=saves("12")),
        hint(3, "vm-3", primaryImpact={"category": "PERFORMANCE"}),
    )
    result = refresh(source)
    assert (result.kept, result.left_out) == (1, 0)


def test_states_say_what_is_open(api: GoogleApi, acme: Account, source: CostSource) -> None:
    """Claimed: somebody is at it, and the bill has not changed. Whatever the filter lets through is looked at again."""
    states = ["ACTIVE", "CLAIMED", "SUCCEEDED", "FAILED", "DISMISSED"]
    api.put(*(hint(at, f"vm-{at}", stateInfo={"state": state}) for at, state in enumerate(states)))
    refresh(source)
    rows = {each.title.rpartition("-")[2]: each for each in recommender_savings(acme)}
    assert set(rows) == {"0", "1"}
    assert "Claimed at Google" in rows["1"].advice


def test_the_larger_saving_of_an_idle_and_oversized_machine_counts(
    api: GoogleApi, acme: Account, source: CostSource
) -> None:
    stop = hint(2, recommenderSubtype="STOP_VM", primaryImpact=saves("-95"))
    api.put(hint(1))
    api.put(stop, recommender=IDLE)
    assert refresh(source).kept == 2
    (row,) = recommender_savings(acme)
    assert (row.title, row.monthly_saving) == ("Stop VM: vm-1", Decimal(95))
    assert "largest of 2 alternatives of Google" in row.advice


def test_a_resource_counts_once_beside_our_own_rules(api: GoogleApi, acme: Account, cast: Cast) -> None:
    source = connect_google(cast)
    store_lines(acme, source, instance_lines("10", **{"tag:env": "dev"}))
    assert "weekends_off" in {each.rule for each in list_savings(acme, SavingsQuery()).recommendations}
    api.put(hint(1))
    refresh(source)
    (row,) = list_savings(acme, SavingsQuery()).recommendations
    assert (row.rule, "weekends_off" in row.instead_of) == ("google_recommender", True)


@pytest.mark.parametrize(("spend", "saving"), [("-50", 120), ("-500", 500)])
def test_commitments_to_machines_and_to_spend_are_alternatives(
    api: GoogleApi, acme: Account, source: CostSource, spend: str, saving: int
) -> None:
    """Within a group of Google's only one counts, and so does only the larger of both kinds."""
    api.put(
        commitment(1, "-40", xorGroupId="group-1"),
        commitment(2, "-80", xorGroupId="group-1"),
        commitment(3, "-40"),
        location="europe-west1",
        recommender=USAGE_COMMITMENTS,
    )
    flexible = "Save by purchasing 3 year spend-based commitments for Compute Engine."
    api.put(
        commitment(9, spend) | {"description": flexible},
        project=BILLING_ACCOUNT,
        location="global",
        recommender=SPEND_COMMITMENTS,
    )
    refresh(source)
    rows = recommender_savings(acme)
    assert sum(each.monthly_saving or 0 for each in rows) == saving
    assert {each.risk_reason for each in rows} == {"A commitment is paid for its term, regardless of usage."}
    assert any("Replaces " in each.advice for each in rows)


def test_a_commitment_takes_the_place_of_our_own_estimate(
    api: GoogleApi, acme: Account, source: CostSource
) -> None:
    assert [each.rule for each in list_savings(acme, SavingsQuery()).recommendations] == ["steady_on_demand"]
    api.put(commitment(1, "-80"), location="europe-west1", recommender=USAGE_COMMITMENTS)
    refresh(source)
    (row,) = list_savings(acme, SavingsQuery()).recommendations
    assert (row.rule, row.instead_of) == ("google_recommender", ["steady_on_demand"])
    assert "For 1 year" in row.advice


@pytest.mark.parametrize(
    ("impact", "problem"),
    [
        ({"category": "COST"}, "names no cost"),
        (
            saves("-1") | {"costProjection": {"cost": {"currencyCode": "USD", "units": "-1"}}},
            "names no duration",
        ),
        (saves("-1", days=0), "names no duration"),
        (saves("-1", currency="Dollar"), "not an ISO 4217 currency"),
        (saves("minus one"), "invalid literal"),
        (saves("-1", -1_000_000_000), "nanos"),
        (saves("-" + "9" * 30), "which is not an amount."),
    ],
)
def test_a_recommendation_that_cannot_be_read_is_left_out_and_named(
    api: GoogleApi, acme: Account, source: CostSource, impact: dict[str, Any], problem: str
) -> None:
    api.put(hint(1), hint(2, "vm-2", primaryImpact=impact))
    result = refresh(source)
    assert (result.kept, result.left_out) == (1, 1)
    assert problem in result.problems[0]


# What the other side does


def test_a_project_and_a_billing_account_that_refuse_are_named_and_keep_what_they_had(
    api: GoogleApi, acme: Account, source: CostSource
) -> None:
    store_lines(acme, source, [*instance_lines("10"), *instance_lines("5", "vm-9", "acme-dev")])
    api.put(hint(1))
    api.put(hint(9, "vm-9"), project="acme-dev")
    refresh(source)
    api.denied = {"acme-dev", BILLING_ACCOUNT}
    api.put(hint(2, "vm-2"))
    gaps = refresh(source).gaps
    assert {each.title.split(": ")[1] for each in recommender_savings(acme)} == {"vm-2", "vm-9"}
    assert f"Grant {EMAIL} Recommender Viewer (roles/recommender.viewer)" in gaps[0]
    assert "roles/recommender.billingAccountCudViewer" in gaps[1]
    summary = list_savings(acme, SavingsQuery()).summary
    assert "incomplete: Google Recommender of 'Google' lacks 2 accounts." in summary


def test_a_service_account_without_the_role_keeps_all(
    api: GoogleApi, acme: Account, source: CostSource
) -> None:
    api.put(hint(1))
    refresh(source)
    api.denied = {PROJECT}
    with pytest.raises(AccessError, match=r"roles/recommender\.viewer"):
        refresh(source)
    assert len(recommender_savings(acme)) == 1


def test_a_key_that_is_not_accepted_is_never_shown(api: GoogleApi, acme: Account, source: CostSource) -> None:
    api.replay.routes["/token"] = lambda _request: Reply.of_json(
        {"error": "invalid_grant", "error_description": "Token has been expired or revoked."}, 401
    )
    with pytest.raises(AccessError, match="has expired") as error:
        refresh(source)
    assert "PRIVATE KEY" not in error.value.message


def test_a_busy_api_is_retried_and_one_that_is_down_keeps_all(
    api: GoogleApi, acme: Account, source: CostSource, sleeps: list[float]
) -> None:
    api.put(hint(1))
    refresh(source)
    pages = api.replay.routes._other  # type: ignore[attr-defined]
    faults = [Reply.of_json({}, 429, Retry_After="4"), Reply(200, b'{"locations": [{"loc', cut=0.5)]
    api.replay.routes._other = lambda request: faults.pop(0) if faults else pages(request)  # type: ignore[attr-defined]
    assert (refresh(source).kept, sum(sleeps) >= 4) == (1, True)
    api.replay.routes._other = lambda _request: Reply.of_json({}, 500)  # type: ignore[attr-defined]
    with pytest.raises(SourceUnavailable, match="HTTP 500"):
        refresh(source)
    assert len(recommender_savings(acme)) == 1


def test_only_projects_of_the_bill_are_asked_and_a_bill_in_bigquery_too(
    api: GoogleApi, acme: Account, cast: Cast
) -> None:
    source = connect_google(cast, connector="bigquery")
    assert refresh_recommendations(source=source, actor=ACTOR) is None
    store_lines(acme, source, [*instance_lines("10"), *instance_lines("9", "x", "Support plan / no project")])
    api.put(hint(1))
    api.put(hint(2), project="acme-else")
    assert refresh(source).kept == 1
    assert not any("acme-else" in path or "Support" in path for path in api.replay.paths())


def test_a_check_names_the_missing_role_and_that_it_is_optional(
    api: GoogleApi, acme: Account, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(connector_of("google_bucket")), "check", lambda _self, _config: [])

    def last() -> Any:
        values = {"bucket": "acme-billing", "key": service_account_key()}
        return check_config(account=cast.account, connector="google_bucket", values=values)[-1]

    assert (last().is_ok, last().is_optional) == (True, True)
    assert "recommender.locations.list" in last().title
    api.denied = {PROJECT}
    assert (last().is_ok, last().is_optional) == (False, True)
    assert "roles/recommender.viewer" in last().fix
