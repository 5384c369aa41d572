"""Saved views: sent on a schedule, and alerts on a change of their spend."""

from __future__ import annotations

import re
from datetime import date, timedelta
from decimal import Decimal
from email.parser import BytesParser
from email.policy import default
from typing import Any

import pytest
from django.test import Client

from accounts.models import Account
from finops.alerts import services
from finops.alerts.models import AlertChannel, AlertDelivery, AlertSubscription
from finops.alerts.queries import list_alert_subscriptions
from finops.alerts.schemas import SubscriptionsQuery
from finops.alerts.services.evaluation_runs import evaluate_if_due
from finops.costs.models import CostSource, SavedView
from finops.costs.services.saved_views import change_saved_view, create_saved_view, delete_saved_view
from finops.costs.spend_query import Filter, SpendQuery
from finops.exchange_rates.services import enter_rate
from finops.lib.errors import UserError
from finops.notifications.models import Notification
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.alerts import evaluate, subscribe
from tests.factories.budgets import daily_cost
from tests.factories.costs import add_source
from tests.factories.days import at, days
from tests.finops.alerts.test_digests import MONDAY, SUNDAY
from tests.pages import get_page
from tests.receivers import MailServer

pytestmark = pytest.mark.django_db

JANUARY = date(2026, 1, 1)
SPIKE = date(2026, 3, 16)


def save_view(account: Account, name: str = "Compute by region", /, **question: Any) -> SavedView:
    """A shared view of the service Compute, the last 7 days against the 7 before, by region."""
    fields = {
        "period": "last_7_days",
        "group_by": ["region"],
        "filters": [Filter(dimension="service", values=["Compute"])],
        "compare_to": "previous_period",
        "granularity": "day",
    }
    query = SpendQuery(**{**fields, **question})
    return create_saved_view(account=account, actor=ACTOR, name=name, query=query)


def lines(through: date, *, spike: int = 20) -> list[dict[str, Any]]:
    """Compute is 10 USD a day in eu and 2 in us, in eu `spike` from 16 March on; Storage always 1."""
    return [
        *daily_cost(JANUARY, SPIKE - timedelta(days=1), 10, service="Compute", region="eu"),
        *daily_cost(SPIKE, through, spike, service="Compute", region="eu"),
        *daily_cost(JANUARY, through, 2, service="Compute", region="us"),
        *daily_cost(JANUARY, through, 1, service="Storage", region="eu"),
    ]


def add_spend(account: Account, through: date, *, spike: int = 20) -> CostSource:
    return add_source(account, lines(through, spike=spike))


def facts_of(sent: Any) -> dict[str, str]:
    return {fact["label"]: fact["value"] for fact in sent.message["facts"]}


# Reports


def test_a_weekly_report_is_the_views_result_with_its_top_groups_and_link(acme: Account) -> None:
    view = save_view(acme)
    subscribe(acme, "view_report", saved_view=view.name, frequency="weekly")
    add_spend(acme, SUNDAY)

    with at(MONDAY, 6):
        (delivery,) = services.evaluate(acme)
        assert services.evaluate(acme) == []

    message = delivery.message
    assert message["title"] == "'Acme': 'Compute by region', $154.00"
    assert message["summary"] == (
        "'Compute by region': $154.00, Mar 16 – 22, +$70.00 (+83.3%) vs Mar 9 – 15."
    )
    assert facts_of(delivery) == {
        "Account": "Acme",
        "Total in USD": "$154.00 · +$70.00 (+83.3%)",
        "eu": "$140.00 · 90.9% · +100%",
        "us": "$14.00 · 9.1% · 0%",
    }
    assert message["url"].startswith(f"http://127.0.0.1:8000/a/acme/cost-explorer/views/{view.pk}/?")
    assert "start_date=2026-03-16&end_date=2026-03-22" in message["url"]
    assert message["data"]["totals"][0]["total"] == {"amount": 154.0, "currency": "USD"}
    assert message["data"]["groups"][0]["amount"] == {"amount": 140.0, "currency": "USD"}
    assert (message["kind"], message["severity"]) == ("saved_view", "info")
    assert message["chart"]["title"] == "Spend by day in USD"
    assert message["chart"]["series"][0]["values"] == [22.0] * 7


def test_the_link_of_a_report_opens_the_days_that_it_had(acme: Account, cast: Cast) -> None:
    view = save_view(acme)
    subscribe(acme, "view_report", saved_view=view.pk, frequency="weekly")
    add_spend(acme, SUNDAY)
    with at(MONDAY, 6):
        (delivery,) = services.evaluate(acme)

    with at(date(2026, 3, 27)):
        page = signed_in(cast.viewer).get(delivery.message["url"].removeprefix("http://127.0.0.1:8000"))

    assert "$154.00" in page.content.decode()


def test_a_report_waits_for_its_days_and_then_says_first_what_is_incomplete(acme: Account) -> None:
    subscribe(acme, "view_report", saved_view=save_view(acme).name, frequency="weekly")
    add_spend(acme, date(2026, 3, 20))

    for day in range(3):
        with at(MONDAY + timedelta(days=day), 23):
            assert evaluate(acme) == []
    with at(MONDAY + timedelta(days=3), 0):
        (delivery,) = services.evaluate(acme)

    assert delivery.message["summary"] == (
        "'Compute by region': $110.00, Mar 16 – 22; no day is complete from Mar 21 on; "
        "+$50.00 (+83.3%) vs Mar 9 – 13. Only days with complete data are compared: Mar 16 – 20 with Mar 9 – 13; "
        "the amounts in totals and rows cover the whole period. "
        "Data is complete through Mar 20. Later days are incomplete. "
        "Source 'Bill' is stale: The newest cost line is of Mar 20, 6 days ago."
    )


def test_a_daily_report_waits_until_noon(acme: Account) -> None:
    subscribe(acme, "view_report", saved_view=save_view(acme).name, frequency="daily")
    add_spend(acme, SUNDAY)

    with at(MONDAY, 1):
        assert evaluate(acme) == ["'Compute by region', $154.00"]
    with at(date(2026, 3, 24), 11):
        assert evaluate(acme) == []
    with at(date(2026, 3, 24), 12):
        (delivery,) = services.evaluate(acme)
    assert delivery.message["summary"].startswith(
        "'Compute by region': $132.00, Mar 17 – 23; no day is complete from Mar 23 on; "
    )


def test_a_monthly_report_of_the_month_to_date_is_of_the_month_that_is_over(acme: Account) -> None:
    view = save_view(acme, "Month", period="month_to_date", filters=[])
    subscribe(acme, "view_report", saved_view=view.name, frequency="monthly")
    add_spend(acme, date(2026, 3, 31))

    with at(date(2026, 4, 1), 6):
        (delivery,) = services.evaluate(acme)

    by_hand = 15 * (10 + 2 + 1) + 16 * (20 + 2 + 1)
    assert delivery.message["title"] == f"'Acme': 'Month', ${by_hand}.00"
    assert "Mar 1 – 31" in delivery.message["summary"]


def test_currencies_stay_separate_and_the_report_says_so(acme: Account) -> None:
    subscribe(acme, "view_report", saved_view=save_view(acme, filters=[]).name, frequency="weekly")
    add_spend(acme, SUNDAY)
    add_source(acme, daily_cost(JANUARY, SUNDAY, 3, currency="EUR", service="Mail"), name="Euros")

    with at(MONDAY, 6):
        (delivery,) = services.evaluate(acme)

    assert delivery.message["title"] == "'Acme': 'Compute by region', $161.00 and €21.00"
    assert "Cost is in 2 currencies (USD, EUR), which are not added" in delivery.message["summary"]


def test_a_report_counts_in_the_display_currency_and_says_what_has_no_rate(acme: Account) -> None:
    subscribe(acme, "view_report", saved_view=save_view(acme, filters=[]).name, frequency="weekly")
    add_spend(acme, SUNDAY)
    add_source(acme, daily_cost(JANUARY, SUNDAY, 3, currency="EUR", service="Mail"), name="Euros")
    add_source(acme, daily_cost(JANUARY, SUNDAY, 1, currency="GBP", service="Phone"), name="Pounds")
    for day in days(JANUARY, SUNDAY):
        enter_rate(account=acme, actor=ACTOR, day=day, base="EUR", quote="USD", rate=Decimal(2))
    acme.display_currency = "USD"
    acme.save()

    with at(MONDAY, 6):
        (delivery,) = services.evaluate(acme)

    assert delivery.message["title"] == "'Acme': 'Compute by region', $203.00"
    assert delivery.message["summary"] == (
        "'Compute by region': $203.00, Mar 16 – 22, without £7.00 for which there is no exchange rate to USD."
    )


def test_a_report_of_amounts_without_any_rate_says_that_they_are_not_converted(acme: Account) -> None:
    subscribe(acme, "view_report", saved_view=save_view(acme).name, frequency="weekly")
    add_spend(acme, SUNDAY)
    acme.display_currency = "CHF"
    acme.save()

    with at(MONDAY, 6):
        (delivery,) = services.evaluate(acme)

    first, _, _ = delivery.message["summary"].partition(". ")
    assert first.startswith(
        "'Compute by region': $154.00, Mar 16 – 22, not converted: there is no exchange rate to CHF"
    )


def test_a_report_says_first_how_much_is_of_incomplete_days(acme: Account) -> None:
    view = save_view(acme, period=None, start_date=date(2026, 3, 16), end_date=MONDAY, compare_to="none")
    subscribe(acme, "view_report", saved_view=view.name, frequency="weekly")
    add_spend(acme, MONDAY)

    with at(MONDAY, 6):
        (delivery,) = services.evaluate(acme)

    first, _, _ = delivery.message["summary"].partition(". ")
    assert first == ("'Compute by region': $176.00, Mar 16 – 23, of which $22.00 on Mar 23 is incomplete")


def test_the_notification_of_a_report_opens_the_days_that_it_had(acme: Account, cast: Cast) -> None:
    subscribe(acme, "view_report", saved_view=save_view(acme).pk, frequency="weekly")
    add_spend(acme, SUNDAY)
    with at(MONDAY, 6):
        (delivery,) = services.evaluate(acme)

    path = Notification.objects.get().path

    assert delivery.message["url"] == f"http://127.0.0.1:8000{path}"
    assert "start_date=2026-03-16&end_date=2026-03-22" in path


def test_a_view_that_cannot_be_answered_holds_up_no_other(acme: Account) -> None:
    save_view(acme, "Gone", filters=[Filter(dimension="cost_tag:gone", values=["x"])])
    save_view(acme, "Good")
    for name in ("Gone", "Good"):
        subscribe(acme, "view_report", saved_view=name, frequency="weekly")
    add_spend(acme, SUNDAY)

    with at(MONDAY, 6), pytest.raises(UserError, match="Report 'Gone': "):
        services.evaluate(acme)

    assert [row.message["title"] for row in _deliveries()] == ["'Acme': 'Good', $154.00"]


def test_the_page_of_a_subscription_says_that_its_evaluation_failed(acme: Account, cast: Cast) -> None:
    save_view(acme, "Gone", filters=[Filter(dimension="cost_tag:gone", values=["x"])])
    row = subscribe(acme, "view_report", saved_view="Gone", frequency="weekly")
    add_spend(acme, SUNDAY)

    with at(MONDAY, 6):
        assert evaluate_if_due(acme)
        page = get_page(signed_in(cast.viewer), f"/a/acme/alerts/subscriptions/{row.pk}/")

    assert "failed. Report 'Gone': " in page


def _deliveries() -> list[Any]:
    return list(AlertDelivery.objects.all())


def test_a_report_arrives_as_mail_with_a_table_of_groups(acme: Account, mail_server: MailServer) -> None:
    subscribe(acme, "view_report", saved_view=save_view(acme).name, frequency="weekly")
    add_spend(acme, SUNDAY)

    with at(MONDAY, 6):
        (delivery,) = services.evaluate(acme)
        services.send_delivery(account=acme, delivery_id=delivery.pk)

    ((_address, raw),) = mail_server.mails
    parts = [
        part.get_content()
        for part in BytesParser(policy=default).parsebytes(raw).walk()
        if part.get_content_maintype() == "text"
    ]
    assert all("$140.00" in part for part in parts)
    assert len(parts) == 2


def test_the_list_of_deliveries_names_the_kind_in_words(acme: Account, cast: Cast) -> None:
    subscribe(acme, "view_report", saved_view=save_view(acme).name, frequency="weekly")
    add_spend(acme, SUNDAY)
    with at(MONDAY, 6):
        services.evaluate(acme)

    page = get_page(signed_in(cast.viewer), "/a/acme/alerts/deliveries/")

    assert "Saved view" in page
    assert "Saved_view" not in page


# Who may, and what goes with it


def test_a_personal_view_cannot_be_sent(acme: Account, cast: Cast) -> None:
    create_saved_view(account=acme, actor=ACTOR, name="Mine", query=SpendQuery(), owner=cast.member)

    with pytest.raises(UserError, match="saved_view: 'Mine' does not exist"):
        subscribe(acme, "view_report", saved_view="Mine", frequency="weekly")


def test_a_view_that_becomes_personal_is_not_sent_and_its_page_says_so(acme: Account, cast: Cast) -> None:
    view = save_view(acme)
    row = subscribe(acme, "view_report", saved_view=view.name, frequency="weekly")
    add_spend(acme, SUNDAY)
    change_saved_view(view=view, actor=ACTOR, name=view.name, owner=cast.member)

    with at(MONDAY, 6):
        assert evaluate(acme) == []
    page = signed_in(cast.owner).get(f"/a/acme/alerts/subscriptions/{row.pk}/").content.decode()
    assert "The saved view is no longer shared." in page


def test_a_deleted_view_takes_its_subscriptions_along_and_says_so_before(acme: Account, cast: Cast) -> None:
    view = save_view(acme)
    subscribe(acme, "view_report", saved_view=view.name, frequency="weekly")

    page = signed_in(cast.member).get(f"/a/acme/cost-explorer/views/{view.pk}/edit/").content.decode()
    delete_saved_view(view=view, actor=ACTOR)

    assert "Also deletes 1 alert subscription: “Weekly report of Compute by region, to Ops”." in page
    assert not AlertSubscription.objects.exists()


@pytest.mark.parametrize(
    ("options", "expected_message"),
    [
        ({"frequency": "weekly"}, "Enter a change in percent, an amount, or both."),
        ({"frequency": "weekly", "minimum_percent": 0}, "not a whole percentage"),
        ({"frequency": "weekly", "minimum_impact": Decimal(5)}, "currency is missing"),
        ({"minimum_percent": 5}, "frequency is missing"),
        ({"minimum_percent": 5, "frequency": "hourly"}, "frequency: 'hourly' does not exist"),
        ({"minimum_percent": 5, "frequency": "daily", "budget": "x"}, "budget is not allowed"),
    ],
    ids=str,
)
def test_a_draft_that_cannot_be_says_why(
    acme: Account, options: dict[str, Any], expected_message: str
) -> None:
    view = save_view(acme)

    with pytest.raises(UserError, match=expected_message):
        subscribe(acme, "view_change", saved_view=view.name, **options)


def test_the_same_twice_is_refused(acme: Account) -> None:
    view = save_view(acme)
    fields = {"saved_view": view.name, "frequency": "weekly"}
    subscribe(acme, "view_change", minimum_percent=10, **fields)
    subscribe(acme, "view_change", minimum_impact=Decimal(10), currency="USD", **fields)
    subscribe(acme, "view_report", **fields)

    for trigger, values in (("view_change", {"minimum_percent": 20}), ("view_report", {})):
        with pytest.raises(UserError, match="already sends this to the channel"):
            subscribe(acme, trigger, **fields, **values)


# Pages


def test_the_explorer_offers_a_report_and_an_alert_of_a_shared_view(acme: Account, cast: Cast) -> None:
    view = save_view(acme)
    member, viewer = signed_in(cast.member), signed_in(cast.viewer)
    links = [
        f"/a/acme/alerts/subscriptions/new/?trigger={trigger}&amp;saved_view={view.pk}"
        for trigger in ("view_report", "view_change")
    ]

    page = member.get(f"/a/acme/cost-explorer/views/{view.pk}/").content.decode()
    assert all(link in page for link in links)
    assert links[0] not in viewer.get(f"/a/acme/cost-explorer/views/{view.pk}/").content.decode()
    form = member.get(links[0].replace("&amp;", "&")).content.decode()
    assert f'<option value="{view.pk}" selected>Compute by region</option>' in form


def test_the_form_begins_with_the_currency_of_the_account(acme: Account, cast: Cast) -> None:
    save_view(acme)
    acme.currencies = ["EUR", "USD"]
    acme.save()
    form = (
        signed_in(cast.member).get("/a/acme/alerts/subscriptions/new/?trigger=view_change").content.decode()
    )

    assert re.search(r'name="currency"\s+value="EUR"', form)


def test_the_form_makes_a_report_and_changes_an_alert(acme: Account, cast: Cast) -> None:
    view, member = save_view(acme), signed_in(cast.member)
    ops = AlertChannel.objects.get()
    form = {"channel": ops.pk, "trigger": "view_report", "saved_view": view.pk, "frequency": "daily"}

    page = _post(member, "subscriptions/new/", form)
    assert "Daily report of Compute by region" in page
    form |= {"trigger": "view_change", "frequency": "weekly", "minimum_percent": "25", "currency": "USD"}
    page = _post(member, "subscriptions/new/", form)
    assert "Change of Compute by region by 25% or more in a week" in page
    row = AlertSubscription.objects.get(trigger="view_change")
    edited = {"channel": ops.pk, "frequency": "weekly", "minimum_percent": "", "minimum_impact": "40"}
    page = _post(member, f"subscriptions/{row.pk}/edit/", {**edited, "currency": "usd"})
    assert "Change of Compute by region by $40.00 or more in a week" in page


def _post(member: Client, path: str, form: dict[str, Any]) -> str:
    answer = member.post(f"/a/acme/alerts/{path}", form, follow=True)
    assert answer.redirect_chain, answer.content.decode()
    return answer.content.decode()


def test_assistants_list_them_by_what_they_are_about(acme: Account) -> None:
    subscribe(acme, "view_report", saved_view=save_view(acme).name, frequency="weekly")

    (line,) = list_alert_subscriptions(acme, SubscriptionsQuery()).subscriptions

    assert line.about == "Weekly report of 'Compute by region', to 'Ops'"
    assert line.trigger == "view_report"
