"""Anomalies are found in the currency of the bill: a display currency changes what is shown, and no id, review or alert.
Today is 20 March 2026; bills end on the 19th."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest

from accounts.models import Account
from finops.alerts import services as alerts
from finops.exchange_rates.display import account_display
from finops.exchange_rates.services import enter_rate
from finops.insights.anomalies.queries import list_anomalies
from finops.insights.anomalies.reconciliation import AnomalyScope, key_of
from finops.insights.anomalies.schemas import AnomaliesQuery, AnomalyRow
from finops.insights.anomalies.services import change_anomaly_settings, due_accounts, mark_expected_anomaly
from finops.insights.models import Anomaly, AnomalyRun, Incident
from tests.cast import ACTOR
from tests.factories.alerts import create_channel, evaluate, subscribe_to_anomalies
from tests.factories.costs import add_source, store_lines
from tests.finops.insights.anomalies.bills import LAST, bill, run_detection, with_extra

pytestmark = pytest.mark.django_db

SPIKE = LAST - timedelta(days=1)


def enter(account: Account, rate: str = "1.25", day: date = SPIKE) -> None:
    enter_rate(account=account, actor=ACTOR, day=day, base="EUR", quote="USD", rate=Decimal(rate))


def show_in(account: Account, currency: str) -> None:
    account.display_currency = currency
    account.save()


def only_anomaly(account: Account) -> AnomalyRow:
    with account_display(account):
        (row,) = list_anomalies(account, AnomaliesQuery(status="all")).anomalies
    return row


def facts(account: Account) -> dict[str, str]:
    (delivery,) = alerts.evaluate(account)
    return {each["label"]: each["value"] for each in delivery.message["facts"]}


@pytest.fixture
def euros(acme: Account) -> Account:
    """A bill in euros with a spike on its last two days, and rates for them."""
    add_source(acme, bill(with_extra(SPIKE, LAST, "300"), currency="EUR"))
    enter(acme)
    create_channel(acme)
    return acme


def test_a_display_currency_changes_no_key_review_or_alert_but_what_is_shown(euros: Account) -> None:
    subscribe_to_anomalies(euros)
    (anomaly,) = run_detection(euros)
    assert len(evaluate(euros)) == 1
    mark_expected_anomaly(account=euros, actor=ACTOR, anomaly=anomaly, note="A migration.")
    run_detection(euros)
    before = only_anomaly(euros)

    for currency, rate in (("USD", "1.25"), ("USD", "2"), ("EUR", "2"), ("", "2")):
        enter(euros, rate)
        show_in(euros, currency)
        assert due_accounts() == []
        AnomalyRun.objects.update(data_version="")
        (same,) = run_detection(euros)
        row = only_anomaly(euros)

        assert (same.pk, same.key, same.currency) == (anomaly.pk, anomaly.key, "EUR")
        assert (row.id, row.state, row.note) == (before.id, "expected", "A migration.")
        assert row.currency == (currency or "EUR")
        own = row.own_amounts or row
        assert (own.currency, own.impact) == ("EUR", before.impact)
        assert evaluate(euros) == []


def test_an_alert_is_in_the_display_currency_with_the_bill_s_beside(euros: Account) -> None:
    show_in(euros, "USD")
    subscribe_to_anomalies(euros, 700)
    (anomaly,) = run_detection(euros)

    values = facts(euros)

    row = only_anomaly(euros)
    assert row.currency == "USD"
    assert values["Impact"] == f"+${row.impact:,.2f}"
    assert values["Before conversion"] == f"+€{anomaly.impact:,.2f}"
    assert abs(row.impact - anomaly.impact * Decimal("1.25")) < Decimal("1e-12")


@pytest.mark.parametrize(("impact", "is_sent"), [(700, True), (800, False)], ids=str)
def test_the_impact_of_a_subscription_counts_in_its_currency(
    euros: Account, impact: int, *, is_sent: bool
) -> None:
    show_in(euros, "GBP")  # of which there is no rate
    subscribe_to_anomalies(euros, impact)
    run_detection(euros)

    assert bool(evaluate(euros)) is is_sent


def test_an_anomaly_without_a_rate_to_compare_is_sent_and_says_so(euros: Account) -> None:
    show_in(euros, "GBP")
    subscribe_to_anomalies(euros, 1_000_000, currency="GBP")
    (anomaly,) = run_detection(euros)

    values = facts(euros)

    assert values["Impact"] == f"+€{anomaly.impact:,.2f}"
    assert values["Conversion"] == "No exchange rate from EUR to GBP"


def test_an_anomaly_that_was_known_before_a_subscription_in_the_display_currency_is_not_sent(
    euros: Account,
) -> None:
    show_in(euros, "USD")
    run_detection(euros)
    subscribe_to_anomalies(euros, 700)

    assert evaluate(euros) == []


@pytest.mark.parametrize(("smallest", "count"), [("700", 1), ("800", 0)])
def test_a_smallest_impact_in_a_currency_of_no_bill_counts_at_the_last_rate(
    euros: Account, smallest: str, count: int
) -> None:
    change_anomaly_settings(
        account=euros, actor=ACTOR, watches=[], minimum_impacts={"USD": Decimal(smallest)}
    )

    assert len(run_detection(euros)) == count


def store_in_dollars(row: Anomaly) -> None:
    """As a detection of an account that showed dollars stored it until detector 5."""
    row.currency = "USD"
    row.key = key_of(AnomalyScope.of(row), row.first_day)
    for name in ("actual", "expected", "impact", "month_end_impact"):
        setattr(row, name, getattr(row, name) * Decimal("1.25"))
    row.save()
    Incident.objects.update(key=row.key, currency="USD")
    AnomalyRun.objects.update(data_version="")


def test_an_anomaly_that_was_stored_in_a_display_currency_keeps_its_id_and_is_not_sent_again(
    euros: Account,
) -> None:
    subscribe_to_anomalies(euros)
    show_in(euros, "USD")
    (anomaly,) = run_detection(euros)
    impact = anomaly.impact
    store_in_dollars(anomaly)
    assert len(evaluate(euros)) == 1

    (same,) = run_detection(euros)

    assert (same.pk, same.key, same.currency, same.impact) == (anomaly.pk, anomaly.key, "EUR", impact)
    assert only_anomaly(euros).id == anomaly.key
    assert evaluate(euros) == []
    assert Incident.objects.get().state == Incident.State.OPEN


def test_a_review_of_one_that_was_stored_in_a_display_currency_holds(euros: Account) -> None:
    show_in(euros, "USD")
    (anomaly,) = run_detection(euros)
    store_in_dollars(anomaly)
    mark_expected_anomaly(account=euros, actor=ACTOR, anomaly=anomaly)

    for _look in range(2):
        (same,) = run_detection(euros)
        assert (same.pk, same.state) == (anomaly.pk, "expected")
        AnomalyRun.objects.update(data_version="")


def test_a_review_in_one_currency_hides_no_anomaly_in_another_of_the_same_service(acme: Account) -> None:
    """Compute is billed in euros and in dollars; its rise in euros is expected, one in dollars follows."""
    euros = bill(with_extra(SPIKE, LAST, "300"), currency="EUR")
    source = add_source(acme, [*euros, *bill()])
    (expected,) = run_detection(acme)
    mark_expected_anomaly(account=acme, actor=ACTOR, anomaly=expected)

    store_lines(acme, source, [*bill(currency="EUR"), *bill(with_extra(SPIKE, LAST, "300"))])

    assert {(each.currency, each.state) for each in run_detection(acme)} == {
        ("EUR", "expected"),
        ("USD", "open"),
    }
