"""Anomaly alerts: which anomalies are sent to which channel, once. Today is 20 March 2026; bills end on the 19th."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from accounts.models import Account
from finops.alerts import services
from finops.alerts.models import AlertFiring
from finops.allocation.models import CostTag, Team, TeamKey, TeamValue
from finops.costs.models import CostSource
from finops.costs.services import change_settle_days, create_cost_source, import_files
from finops.insights.anomalies.queries import list_anomalies
from finops.insights.anomalies.schemas import AnomaliesQuery
from finops.insights.anomalies.services import detect_if_due, mark_expected_anomaly, resolve
from finops.insights.models import Anomaly, Incident
from finops.lib import clock
from finops.lib.formats import dates
from tests.cast import ACTOR
from tests.factories.alerts import evaluate, subscribe_to_anomalies
from tests.factories.costs import Line, add_source, store_lines
from tests.finops.insights.anomalies.bills import FIRST, LAST, bill, weekday_cost, with_extra

pytestmark = pytest.mark.django_db

SPIKE = LAST - timedelta(days=1)


def spike_bill(extra: str = "300", *, first: date = SPIKE, last: date = LAST, **columns: Any) -> list[Line]:
    return bill(with_extra(first, last, extra), **columns)


def detect_and_evaluate(account: Account) -> list[str]:
    """Look for anomalies, then evaluate; what was told, with the amounts left out."""
    detect_if_due(account)
    return [_plain(title) for title in evaluate(account)]


def _plain(title: str) -> str:
    words = title.split(" cost ")
    return f"{words[0]}: {words[1].split()[1]}" if len(words) == 2 else title


@pytest.fixture
def source(acme: Account) -> CostSource:
    return add_source(acme, bill())


def test_an_anomaly_is_sent_once_with_figures_and_a_link(acme: Account, source: CostSource) -> None:
    subscribe_to_anomalies(acme, 100)
    store_lines(acme, source, spike_bill())
    detect_if_due(acme)

    (delivery,) = services.evaluate(acme)

    anomaly = Anomaly.objects.get()
    message, facts = delivery.message, {fact["label"]: fact["value"] for fact in delivery.message["facts"]}
    assert re.fullmatch(r"'Acme': 'Compute' cost \$[\d,]+\.\d\d more than expected", message["title"])
    assert facts["Impact"].startswith("+$")
    assert facts["Source"] == "Bill"
    assert facts["Days"].startswith(dates.day_range(SPIKE, LAST))
    assert message["url"] == f"http://127.0.0.1:8000/a/acme/anomalies/{anomaly.key}/"
    assert message["dedup_key"].endswith(anomaly.key)
    assert message["data"]["impact"]["currency"] == "USD"
    assert message["data"]["impact"]["amount"] == pytest.approx(float(anomaly.impact))
    assert detect_and_evaluate(acme) == []


def test_it_is_named_by_its_root_cause_as_pages_name_it(acme: Account, source: CostSource) -> None:
    subscribe_to_anomalies(acme, 100)
    first, then = (
        bill(resource_id="vm-1"),
        bill(with_extra(SPIKE, LAST, "300", base=lambda _day: 0), resource_id="vm-2"),
    )
    store_lines(acme, source, [*first, *then])
    detect_if_due(acme)

    (delivery,) = services.evaluate(acme)

    assert re.fullmatch(
        r"'Acme': 'Compute' cost \S+ more than expected \('Resource: vm-2'\)", delivery.message["title"]
    )
    assert (
        "listed first: 'Compute' ('Resource: vm-2') of 'Bill'"
        in list_anomalies(acme, AnomaliesQuery()).summary
    )


def test_an_anomaly_that_grows_is_not_sent_again(acme: Account, source: CostSource) -> None:
    subscribe_to_anomalies(acme, 100)
    store_lines(acme, source, spike_bill())
    assert detect_and_evaluate(acme) == ["'Compute': more"]

    store_lines(acme, source, spike_bill("900"))
    detect_if_due(acme)

    assert Anomaly.objects.get().impact > 1_500
    assert evaluate(acme) == []


def test_an_anomaly_below_the_minimum_impact_is_sent_when_it_has_grown(
    acme: Account, source: CostSource
) -> None:
    subscribe_to_anomalies(acme, 1000)
    store_lines(acme, source, spike_bill())
    assert detect_and_evaluate(acme) == []

    store_lines(acme, source, spike_bill("900"))

    assert detect_and_evaluate(acme) == ["'Compute': more"]


def test_an_anomaly_known_before_the_subscription_is_not_sent(acme: Account, source: CostSource) -> None:
    store_lines(acme, source, spike_bill())
    detect_if_due(acme)
    subscribe_to_anomalies(acme, 100)

    assert detect_and_evaluate(acme) == []
    assert AlertFiring.objects.get().message == {}


def test_a_small_known_anomaly_is_sent_when_it_has_grown(acme: Account, source: CostSource) -> None:
    store_lines(acme, source, spike_bill())
    detect_if_due(acme)
    subscribe_to_anomalies(acme, 1000)
    store_lines(acme, source, spike_bill("900"))

    assert detect_and_evaluate(acme) == ["'Compute': more"]


def test_anomalies_found_during_a_pause_are_not_sent_after_it(acme: Account, source: CostSource) -> None:
    subscription = subscribe_to_anomalies(acme, 100)
    services.pause_alert_subscription(subscription=subscription, actor=ACTOR)
    store_lines(acme, source, spike_bill())
    assert detect_and_evaluate(acme) == []

    services.resume_alert_subscription(subscription=subscription, actor=ACTOR)

    assert detect_and_evaluate(acme) == []


def test_an_impact_in_another_currency_does_not_count(acme: Account) -> None:
    source = add_source(acme, bill(currency="EUR"))
    subscribe_to_anomalies(acme, 1)
    store_lines(acme, source, spike_bill(currency="EUR"))

    assert detect_and_evaluate(acme) == []


def test_without_a_minimum_impact_every_anomaly_of_any_currency_is_sent(acme: Account) -> None:
    source = add_source(acme, bill(currency="EUR"))
    subscribe_to_anomalies(acme)
    store_lines(acme, source, spike_bill(currency="EUR"))

    assert detect_and_evaluate(acme) == ["'Compute': more"]


def test_a_drop_is_alerted_by_the_size_of_its_impact(acme: Account) -> None:
    source = add_source(acme, bill())
    subscribe_to_anomalies(acme, 50)
    store_lines(acme, source, bill(lambda day: "1" if day >= SPIKE else weekday_cost(day)))

    assert detect_and_evaluate(acme) == ["'Compute': less"]


@pytest.mark.parametrize("mark", [mark_expected_anomaly, resolve], ids=["expected", "resolved"])
def test_an_anomaly_that_was_reviewed_is_not_sent(acme: Account, source: CostSource, mark: Any) -> None:
    subscribe_to_anomalies(acme, 100)
    store_lines(acme, source, spike_bill())
    detect_if_due(acme)
    mark(account=acme, actor=ACTOR, anomaly=Anomaly.objects.get(), note="A backfill.")

    assert detect_and_evaluate(acme) == []


@pytest.mark.parametrize(("days", "count"), [(3, 1), (4, 0)], ids=["three days ago", "four days ago"])
def test_an_anomaly_that_ended_more_than_three_days_before_the_data_is_not_sent(
    acme: Account, source: CostSource, days: int, count: int
) -> None:
    subscribe_to_anomalies(acme, 100)
    end = LAST - timedelta(days=days)
    store_lines(acme, source, spike_bill(first=end, last=end))

    titles = detect_and_evaluate(acme)

    assert Anomaly.objects.get().last_day == end
    assert len(titles) == count


def test_a_source_that_delivers_later_than_others_is_evaluated_by_its_own_data(acme: Account) -> None:
    add_source(acme, bill(service="Network"), name="Fresh")
    last = LAST - timedelta(days=5)
    late = add_source(acme, bill(last=last), name="Late")
    subscribe_to_anomalies(acme, 100)
    store_lines(acme, late, spike_bill(first=last, last=last)[: -(LAST - last).days])

    assert detect_and_evaluate(acme) == ["'Compute': more"]


def test_a_fresh_source_is_not_evaluated_by_one_that_delivers_later(acme: Account) -> None:
    add_source(acme, bill(service="Network", last=LAST - timedelta(days=5)), name="Late")
    fresh = add_source(acme, bill(), name="Fresh")
    subscribe_to_anomalies(acme, 100)
    end = LAST - timedelta(days=4)
    store_lines(acme, fresh, spike_bill(first=end, last=end))

    assert detect_and_evaluate(acme) == []


def focus(lines: list[Line]) -> str:
    header = (
        "BillingPeriodStart,ChargePeriodStart,ProviderName,ServiceName,ChargeCategory,BillingCurrency,"
        "BilledCost,EffectiveCost"
    )
    rows = [
        f"{line['charge_date']:%Y-%m-01}T00:00:00Z,{line['charge_date']}T00:00:00Z,AWS,{line['service']},Usage,USD,"
        f"{line['billed_cost']},{line['effective_cost']}"
        for line in lines
    ]
    return "\n".join([header, *rows, ""])


def import_bill(account: Account, source: CostSource, path: Path, lines: list[Line]) -> None:
    path.write_text(focus(lines))
    import_files(account=account, source=source, paths=[path], actor=ACTOR)


def test_a_first_import_of_a_year_sends_no_old_alerts(acme: Account, tmp_path: Path) -> None:
    subscribe_to_anomalies(acme)
    source = create_cost_source(account=acme, actor=ACTOR, name="AWS")

    def cost_with_spikes(day: date) -> Any:
        return weekday_cost(day) + {6: 1500, 40: 600, 80: 400, 200: 400}.get((LAST - day).days, 0)

    import_bill(acme, source, tmp_path / "year.csv", bill(cost_with_spikes, first=LAST - timedelta(days=364)))

    assert detect_and_evaluate(acme) == []
    last_days = Anomaly.objects.filter(incident__state="open").values_list("last_day", flat=True)
    assert set(last_days) >= {LAST - timedelta(days=6), LAST - timedelta(days=40)}


def test_months_that_are_imported_one_by_one_tell_nothing_of_long_ago(acme: Account, tmp_path: Path) -> None:
    """Each month's end is the newest data for a while, and months behind today."""
    subscribe_to_anomalies(acme)
    source = create_cost_source(account=acme, actor=ACTOR, name="AWS")
    december = date(2025, 12, 31)

    import_bill(acme, source, tmp_path / "a.csv", bill(first=FIRST, last=december - timedelta(days=31)))
    import_bill(
        acme,
        source,
        tmp_path / "b.csv",
        bill(with_extra(december, december, "900"), first=date(2025, 12, 1), last=december),
    )

    assert detect_and_evaluate(acme) == []
    assert Anomaly.objects.get().last_day == december


def test_an_import_with_a_new_anomaly_sends_an_alert(acme: Account, tmp_path: Path) -> None:
    source = create_cost_source(account=acme, actor=ACTOR, name="AWS")
    change_settle_days(source=source, settle_days=1, actor=ACTOR)
    import_bill(acme, source, tmp_path / "a.csv", bill())
    subscribe_to_anomalies(acme, 100)
    assert detect_and_evaluate(acme) == []

    import_bill(
        acme, source, tmp_path / "b.csv", [each for each in spike_bill() if each["charge_date"].month == 3]
    )

    assert detect_and_evaluate(acme) == ["'Compute': more"]


def test_a_source_gets_alerts_of_its_own_anomalies(acme: Account, source: CostSource) -> None:
    other = add_source(acme, bill(service="Network"), name="Other")
    subscribe_to_anomalies(acme, 100, scope="cost_source", cost_source="Other")
    store_lines(acme, source, spike_bill())
    assert detect_and_evaluate(acme) == []

    store_lines(acme, other, spike_bill(service="Network"))

    assert detect_and_evaluate(acme) == ["'Network': more"]


@pytest.fixture
def teams(acme: Account) -> dict[str, Team]:
    TeamKey.objects.create(account=acme, dimension="tag:squad")
    teams_by_name = {name: Team.objects.create(account=acme, name=name) for name in ("Core", "Edge")}
    for name, team in teams_by_name.items():
        TeamValue.objects.create(account=acme, team=team, value=name.lower())
    return teams_by_name


def of_squads(core: str = "0", edge: str = "0") -> list[Line]:
    """A bill of both squads; what each has more on the last two days."""
    parts = (("core", "Compute", core), ("edge", "Network", edge))
    return [
        line
        for squad, service, extra in parts
        for line in spike_bill(extra, tags={"squad": squad}, service=service)
    ]


def test_a_team_gets_alerts_of_its_own_anomalies(acme: Account, teams: dict[str, Team]) -> None:
    source = add_source(acme, of_squads())
    subscribe_to_anomalies(acme, 100, scope="team", team="Core")
    detect_if_due(acme)
    store_lines(acme, source, of_squads(edge="300"))
    assert detect_and_evaluate(acme) == []

    store_lines(acme, source, of_squads(core="300", edge="300"))

    assert detect_and_evaluate(acme) == ["'Core': more"]


def test_a_cost_tag_value_gets_alerts_of_its_own_anomalies(acme: Account) -> None:
    rules = [{"when": {"dimension": "tag:squad", "op": "in", "values": ["core"]}, "value": "Inner"}]
    CostTag.objects.create(account=acme, key="ring", rules=rules, default_value="Outer")
    source = add_source(acme, of_squads())
    subscribe_to_anomalies(acme, 100, scope="cost_tag", cost_tag="ring", cost_tag_value="inner")
    store_lines(acme, source, of_squads(edge="300"))
    assert detect_and_evaluate(acme) == []

    store_lines(acme, source, of_squads(core="300", edge="300"))

    assert detect_and_evaluate(acme) == ["'Inner': more"]


def test_one_event_is_sent_once_to_the_whole_account(acme: Account, teams: dict[str, Team]) -> None:
    """The team that is watched shows the same again; its own subscription has that."""
    source = add_source(acme, of_squads())
    subscribe_to_anomalies(acme, 100)
    subscribe_to_anomalies(acme, 100, scope="team", team="Core")
    store_lines(acme, source, of_squads(core="300"))

    assert detect_and_evaluate(acme) == ["'Compute': more", "'Core': more"]
    assert Anomaly.objects.filter(incident__state="open").count() == 2


def test_two_services_of_one_resource_are_one_message_with_the_impact_of_both(
    acme: Account, source: CostSource
) -> None:
    """Neither has the impact that the subscription is from."""
    subscribe_to_anomalies(acme, 1_000)
    services_of_it = ("Storage", "Transfer")
    quiet, loud = (
        [line for name in services_of_it for line in spike_bill(extra, service=name, resource_id="bucket-a")]
        for extra in ("0", "300")
    )
    store_lines(acme, source, quiet)
    assert detect_and_evaluate(acme) == []
    store_lines(acme, source, loud)

    titles = detect_and_evaluate(acme)

    incident = Incident.objects.get()
    assert len(titles) == 1
    assert incident.impact > 1_100
    message = AlertFiring.objects.exclude(message={}).get().message
    assert message["data"]["impact"]["amount"] == pytest.approx(float(incident.impact))
    assert message["url"].endswith(f"/anomalies/{incident.key}/")


def test_an_anomaly_of_another_dimension_is_sent_to_the_whole_account(
    acme: Account, teams: dict[str, Team]
) -> None:
    """One squad spends what the other saves, so the services show nothing."""
    source = add_source(acme, of_squads())
    subscribe_to_anomalies(acme, 100, scope="team", team="Edge")
    subscribe_to_anomalies(acme, 100, scope="account")
    detect_if_due(acme)
    both = bill(with_extra(SPIKE, LAST, "300", lambda day: 400), tags={"squad": "core"})
    less = bill(with_extra(SPIKE, LAST, "-300", lambda day: 400), tags={"squad": "edge"})
    store_lines(acme, source, [*both, *less])

    titles = detect_and_evaluate(acme)

    assert sorted(titles) == ["'Core': more", "'Edge': less", "'Edge': less"]
    assert not Anomaly.objects.filter(dimension="service", incident__state="open", gone_at=None).exists()


def test_many_concurrent_alerts_are_sent_together_after_the_largest(acme: Account) -> None:
    def services_of(extra: int) -> list[Line]:
        return [
            line
            for number in range(13)
            for line in spike_bill(
                str(extra * (number + 1)), service=f"Service {number:02}", first=LAST, last=LAST
            )
        ]

    source = add_source(acme, services_of(0))
    subscribe_to_anomalies(acme, 50)
    store_lines(acme, source, services_of(60))

    titles = detect_and_evaluate(acme)

    assert titles[:9] == [f"'Service {number:02}': more" for number in range(12, 3, -1)]
    assert titles[9:] == ["4 more anomalies"]
    assert AlertFiring.objects.count() == 13
    assert detect_and_evaluate(acme) == []


def test_anomalies_unknown_to_an_earlier_evaluation_are_sent_after_detection(
    acme: Account, source: CostSource
) -> None:
    subscribe_to_anomalies(acme, 100)
    store_lines(acme, source, spike_bill())
    assert evaluate(acme) == []

    with clock.frozen(datetime(2026, 3, 20, 13, tzinfo=UTC)):
        assert detect_and_evaluate(acme) == ["'Compute': more"]
