"""The pages of alerts: channels with their test, subscriptions, deliveries; for members, viewers and strangers."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from standardwebhooks import Webhook

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.alerts import services
from finops.alerts.models import AlertChannel, AlertDelivery, AlertSubscription
from finops.allocation.models import CostTag, Team
from finops.insights.models import Anomaly
from finops.lib import clock
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.alerts import create_channel, subscribe, subscribe_to_anomalies, subscribe_to_budget
from tests.factories.budgets import create_budget
from tests.factories.deliveries import create_channel_to, deliver, run_deliveries
from tests.receivers import Receiver

URL = "/a/acme/alerts/"
SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]{40,}")


def html_of(client: Client, path: str = "", **params: str) -> str:
    answer = client.get(f"{URL}{path}", params)
    assert answer.status_code == 200, answer.content[:500]
    return str(answer.content.decode())


def csv(client: Client, path: str = "", **params: str) -> list[str]:
    answer = client.get(f"{URL}{path}", {**params, "format": "csv"})
    assert answer["Content-Type"].startswith("text/csv")
    text = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    return text.splitlines()


# Nothing yet


def test_an_account_without_channels_is_led_to_its_first(cast: Cast, member: Client) -> None:
    for path in ("", "channels/", "subscriptions/new/"):
        assert f'href="{URL}channels/new/' in html_of(member, path)
    assert "No deliveries yet" in html_of(member, "deliveries/")
    viewer = html_of(signed_in(cast.viewer))
    assert "Ask a member, admin or owner to add a channel and subscriptions." in viewer
    assert "New channel" not in viewer


def test_every_kind_has_its_form_and_says_where_to_find_what_it_asks_for(member: Client) -> None:
    assert all(label in html_of(member, "channels/new/") for label in map(str, AlertChannel.Kind.labels))
    hints_by_kind = {
        "slack": ("Webhook URL", "Incoming Webhooks"),
        "microsoft_teams": ("Webhook URL", "Workflows"),
        "email": (
            "Addresses",
            ("Recipients confirm before the first alert. A mailing list counts as one address."),
        ),
        "pagerduty": ("Integration key", "Events API V2"),
        "webhook": ("Endpoint URL", "Standard Webhooks"),
    }
    for kind, texts in hints_by_kind.items():
        page = html_of(member, "channels/new/", kind=kind)
        assert all(text in page for text in texts), kind


# A channel


def test_a_webhooks_secret_is_shown_once_and_signs(acme: Account, member: Client, receiver: Receiver) -> None:
    answer = member.post(f"{URL}channels/new/?kind=webhook", {"name": "Hook", "url": receiver.url})

    (secret,) = set(SECRET.findall(answer.content.decode()))
    hook = AlertChannel.objects.get(name="Hook")
    page = answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert page.count(secret) == 3  # the secret, and two snippets that check with it
    member.post(f"{URL}channels/{hook.pk}/test/")
    (request,) = receiver.requests
    signed = Webhook(secret).sign(request.headers["webhook-id"], clock.now(), request.body.decode())
    assert request.headers["webhook-signature"] == signed
    for path in ("", "channels/", f"channels/{hook.pk}/", f"channels/{hook.pk}/edit/", "deliveries/"):
        assert not SECRET.search(html_of(member, path))
    assert not SECRET.search(str(list(AuditEntry.objects.values())))

    again = member.post(f"{URL}channels/{hook.pk}/secret/").content.decode()
    (renewed,) = set(SECRET.findall(again))
    assert renewed != secret
    assert "It is shown only once. Verify the signature of each message with it." in again
    assert "Messages are also signed with the old secret for 24 hours." in again
    assert "for 24 hours" not in page


def test_a_webhook_with_a_new_address_loses_its_headers_and_one_without_keeps_all(
    acme: Account, member: Client, receiver: Receiver
) -> None:
    fields = {"name": "Hook", "url": receiver.url, "headers": "X-Key: s3cr3t-value"}
    member.post(f"{URL}channels/new/?kind=webhook", fields)
    hook = AlertChannel.objects.get(name="Hook")
    edit, sealed = f"channels/{hook.pk}/edit/", hook.target
    assert "Otherwise what is empty is removed." in html_of(member, edit)

    member.post(f"{URL}{edit}", {"name": "Renamed"})
    hook.refresh_from_db()
    assert (hook.name, hook.target) == ("Renamed", sealed)
    assert member.post(f"{URL}{edit}", {"name": "Renamed", "headers": "X-Key: b"}).status_code == 422
    member.post(f"{URL}{edit}", {"name": "Renamed", "url": receiver.url})
    hook.refresh_from_db()
    assert "X-Key" not in hook.shown_target


def test_a_channel_is_made_changed_and_deleted(acme: Account, member: Client, receiver: Receiver) -> None:
    member.post(f"{URL}channels/new/?kind=slack", {"name": "#ops", "url": receiver.url})
    hook = AlertChannel.objects.get(name="#ops")
    sealed = hook.target
    page = f"channels/{hook.pk}/"

    assert receiver.url not in html_of(member, page)
    assert receiver.url not in html_of(member, f"{page}edit/")
    member.post(f"{URL}{page}edit/", {"name": "#finops", "url": ""})
    hook.refresh_from_db()
    assert (hook.name, hook.target) == ("#finops", sealed)
    refusal = member.post(f"{URL}{page}edit/", {"name": "Ops"})
    assert refusal.status_code == 422
    message = (
        f"Alert channel &#x27;Ops&#x27; already exists with id {AlertChannel.objects.get(name='Ops').pk}."
    )
    assert message in refusal.content.decode(), re.findall(
        'class="(?:invalid|alert).*?</div>', refusal.content.decode(), re.DOTALL
    )
    member.post(f"{URL}{page}delete/")
    assert not AlertChannel.objects.filter(name="#finops").exists()
    assert member.get(f"{URL}{page}").status_code == 404


@pytest.mark.parametrize(
    ("kind", "target", "expected_message"),
    [
        ("webhook", {"url": "https://127.0.0.1/x"}, "private"),
        ("webhook", {"url": "ftp://example.com/x"}, "https"),
        ("slack", {"url": ""}, "Enter the webhook URL."),
        ("email", {"addresses": "nobody"}, "nobody"),
        ("email", {"addresses": ""}, "Enter at least one address."),
        ("pagerduty", {"routing_key": "short"}, "key"),
    ],
    ids=["private", "scheme", "no url", "address", "no address", "key"],
)
def test_a_target_that_cannot_be_is_refused_at_its_field(
    acme: Account, member: Client, kind: str, target: dict[str, str], expected_message: str
) -> None:
    answer = member.post(f"{URL}channels/new/?kind={kind}", {"name": "New", **target})

    page = answer.content.decode()
    assert answer.status_code == 422
    (error,) = re.findall(r'class="invalid-feedback[^>]*>(.*?)</div>', page, re.DOTALL)
    assert expected_message in error
    assert not AlertChannel.objects.filter(name="New").exists()


def test_a_test_says_what_the_receiver_said(acme: Account, member: Client, receiver: Receiver) -> None:
    hook = create_channel_to(acme, receiver, "webhook", "Hook")
    url = f"{URL}channels/{hook.pk}/"
    assert "Not tested yet. Send a test and check that it arrives." in html_of(member, f"channels/{hook.pk}/")

    receiver.answer(202, "thank you")
    arrived = member.post(f"{url}test/", headers={"HX-Request": "true"}).content.decode()
    assert all(text in arrived for text in ("Delivered", "Test delivered", "202", "thank you"))
    assert "<html" not in arrived

    receiver.answer(503, "not <now>")
    failed = member.post(f"{url}test/", follow=True).content.decode()
    assert all(text in failed for text in ("Failed", "503", "not &lt;now&gt;", "Tests are not retried."))
    assert "Test failed" in html_of(member, f"channels/{hook.pk}/")


def test_too_many_tests_are_refused_with_a_sentence(
    acme: Account, member: Client, receiver: Receiver
) -> None:
    hook = create_channel_to(acme, receiver, "webhook", "Hook")
    url = f"{URL}channels/{hook.pk}/test/"
    htmx = {"HX-Request": "true"}

    answers = [member.post(url, headers=htmx).content.decode() for _ in range(11)]

    assert "Wait a minute and try again." in answers[-1]
    assert "Send test" in answers[-1]
    assert "Wait a minute" in member.post(url, follow=True).content.decode()


# Subscriptions


def test_the_form_follows_trigger_and_scope(acme: Account, member: Client) -> None:
    create_budget(acme, "Cloud")
    CostTag.objects.create(key="Unit")

    def fields(**params: str) -> set[str]:
        page = html_of(member, "subscriptions/new/", **params)
        return set(re.findall(r'<(?:input|select)[^>]* name="(\w+)"', page)) - {"csrfmiddlewaretoken"}

    common = {"channel", "trigger"}
    assert fields() == common | {"budget", "thresholds", "measure"}
    assert fields(trigger="anomaly") == common | {"scope", "minimum_impact", "currency"}
    assert fields(trigger="anomaly", scope="cost_tag") == common | {
        *("scope", "cost_tag", "cost_tag_value", "minimum_impact", "currency")
    }
    assert fields(trigger="digest") == common | {"frequency"}
    assert fields(trigger="unheard") == common


def test_a_channel_is_subscribed_paused_resumed_and_deleted(acme: Account, member: Client) -> None:
    ops, budget = AlertChannel.objects.get(), create_budget(acme, "Cloud")
    form = {
        "channel": ops.pk,
        "trigger": "budget",
        "budget": budget.pk,
        "thresholds": "100 %, 80",
        "measure": "forecast",
    }

    response = member.post(f"{URL}subscriptions/new/", form, follow=True)
    row = AlertSubscription.objects.get()
    url = f"{URL}subscriptions/{row.pk}/"
    assert response.redirect_chain == [(url, 302)]
    assert "Budget Cloud at 80% and 100% by the forecast" in response.content.decode()
    assert (row.thresholds, row.measure) == ([80, 100], "forecast")

    paused = member.post(f"{url}pause/", follow=True).content.decode()
    assert "Paused" in paused
    assert "Resume" in paused
    assert "Pause" in member.post(f"{url}resume/", follow=True).content.decode()
    member.post(f"{url}delete/")
    assert not AlertSubscription.objects.exists()
    assert member.get(url).status_code == 404


@pytest.mark.parametrize(
    ("change", "expected_message"),
    [
        ({"channel": ""}, "Choose a channel."),
        ({"budget": ""}, "Choose a budget."),
        ({"thresholds": "eighty"}, "“eighty” is not a whole number"),
        ({"thresholds": " , "}, "is not a whole number"),
        ({"thresholds": "5000"}, "5000 is not a whole percentage from 1 to 1000"),
        ({"trigger": "anomaly", "scope": "account", "minimum_impact": "5"}, "currency is missing"),
        ({"trigger": "anomaly", "scope": "account", "minimum_impact": "-5"}, "Enter 0 or more"),
        ({"trigger": "anomaly", "scope": "team"}, "Choose a team."),
        ({"trigger": "digest", "frequency": "daily"}, "Select a valid choice"),
        ({"trigger": "unheard"}, "Select a valid choice"),
    ],
    ids=str,
)
def test_a_form_that_cannot_be_says_why(
    acme: Account, member: Client, change: dict[str, str], expected_message: str
) -> None:
    ops, budget = AlertChannel.objects.get(), create_budget(acme, "Cloud")
    form: dict[str, Any] = {
        "channel": ops.pk,
        "trigger": "budget",
        "budget": budget.pk,
        "thresholds": "80",
        "measure": "actual",
    }

    answer = member.post(f"{URL}subscriptions/new/", {**form, **change})

    assert (answer.status_code, expected_message in answer.content.decode()) == (422, True)
    assert not AlertSubscription.objects.exists()


def test_objects_of_another_account_are_refused_like_objects_that_do_not_exist(
    acme: Account, cast: Cast, member: Client
) -> None:
    with account_scope(cast.other_account):
        foreign_values = {
            "channel": create_channel(cast.other_account, "Theirs").pk,
            "budget": create_budget(cast.other_account, "Theirs").pk,
        }
    own_values = {"channel": AlertChannel.objects.get().pk, "budget": create_budget(acme, "Cloud").pk}
    form = {"trigger": "budget", "thresholds": "80", "measure": "actual"}

    for name, pk in foreign_values.items():
        errors_of = []
        for row_id in (pk, 10**9):
            page = member.post(
                f"{URL}subscriptions/new/", {**form, **own_values, name: row_id}
            ).content.decode()
            assert "Theirs" not in page
            matches = re.findall(r'class="invalid-feedback[^>]*>(.*?)</div>', page, re.DOTALL)
            errors_of.append([each.replace(str(row_id), "N") for each in matches])
        assert errors_of[0] == errors_of[1] != []
        prefilled = html_of(member, "subscriptions/new/", trigger="budget", **{name: str(pk)})
        assert "Theirs" not in prefilled
    assert not AlertSubscription.objects.exists()


def test_an_alert_that_exists_already_names_its_subscription(acme: Account, member: Client) -> None:
    subscription = subscribe(acme)
    form = {"channel": AlertChannel.objects.get().pk, "trigger": "digest", "frequency": "weekly"}

    answer = member.post(f"{URL}subscriptions/new/", form)

    assert f"Subscription {subscription.pk} already sends this to the channel" in answer.content.decode()


def test_a_team_that_was_not_watched_is_and_the_page_says_so(acme: Account, member: Client) -> None:
    team = Team.objects.create(name="Core")
    form = {"channel": AlertChannel.objects.get().pk, "trigger": "anomaly", "scope": "team", "team": team.pk}

    page = member.post(f"{URL}subscriptions/new/", form, follow=True).content.decode()

    assert "Anomalies by team are now monitored" in page


def test_a_budgets_page_lists_its_subscriptions_and_offers_one(
    acme: Account, cast: Cast, member: Client
) -> None:
    budget = create_budget(acme, "Cloud")
    offered = f"{URL}subscriptions/new/?trigger=budget&amp;budget={budget.pk}"
    part = f"of-budget/{budget.pk}/"

    page = member.get(f"/a/acme/budgets/{budget.pk}/").content.decode()
    assert offered in page
    assert f'hx-get="{URL}{part}"' in page
    without, viewer = html_of(member, part), signed_in(cast.viewer)
    assert "No alerts for this budget." in without
    assert "Ask a member, admin or owner to add one." not in without
    assert "Ask a member, admin or owner to add one." in html_of(viewer, part)
    subscribe_to_budget(acme, "Cloud", 80)
    assert "Budget Cloud at 80% of the actual cost</a>, to Ops" in html_of(member, part)
    assert offered not in viewer.get(f"/a/acme/budgets/{budget.pk}/").content.decode() + html_of(viewer, part)
    prefilled = html_of(member, "subscriptions/new/", trigger="budget", budget=str(budget.pk))
    assert f'<option value="{budget.pk}" selected>Cloud</option>' in prefilled


def test_the_anomalies_page_offers_a_subscription(acme: Account, cast: Cast, member: Client) -> None:
    link = f"{URL}subscriptions/new/?trigger=anomaly"

    assert link in member.get("/a/acme/anomalies/").content.decode()
    assert link not in signed_in(cast.viewer).get("/a/acme/anomalies/").content.decode()
    assert not Anomaly.objects.exists()


# Lists


def test_lists_sort_narrow_and_export(acme: Account, member: Client, receiver: Receiver) -> None:
    create_channel_to(acme, receiver, "slack", "Zebra")
    create_budget(acme, "Cloud")
    subscribe_to_budget(acme, "Cloud", 80)
    subscribe(acme, channel="Zebra")
    paused = subscribe_to_anomalies(acme, 50)
    services.pause_alert_subscription(subscription=paused, actor=ACTOR)

    assert [line.split(",")[0] for line in csv(member, "channels/", sort="-name")] == [
        "Channel",
        "Zebra",
        "Ops",
    ]
    assert len(csv(member, "channels/", kind="email")) == 2
    assert len(csv(member, "channels/", q="zeb")) == 2
    assert [line.split(",")[1] for line in csv(member, sort="trigger")[1:]] == ["anomaly", "budget", "digest"]
    assert len(csv(member, trigger="budget")) == 2
    assert len(csv(member, state="paused")) == 2
    assert len(csv(member, q="zebra digest")) == 2
    assert "No subscriptions match “nothing like it”." in html_of(member, q="nothing like it")


def test_deliveries_narrow_page_and_export(acme: Account, member: Client, receiver: Receiver) -> None:
    hook = create_channel_to(acme, receiver, "webhook", "Hook")
    for number in range(55):
        deliver(hook, title=f"Message {number:02}#")
    services.test_channel(channel=hook, actor=ACTOR)
    ops = AlertChannel.objects.get(name="Ops")

    assert len(csv(member, "deliveries/")) == 57
    assert len(csv(member, "deliveries/", status="waiting")) == 56
    assert len(csv(member, "deliveries/", status="delivered")) == 2
    assert len(csv(member, "deliveries/", channel=str(ops.pk))) == 1
    assert len(csv(member, "deliveries/", q="message 07#")) == 2
    first = html_of(member, "deliveries/")
    assert "50 of 56" in first
    assert "56 of 56" in html_of(member, "deliveries/", page="2")
    assert html_of(member, "deliveries/", page="none", status="unheard", channel="x")


def test_a_delivery_has_its_attempts_and_is_sent_again(
    acme: Account, cast: Cast, member: Client, receiver: Receiver
) -> None:
    hook = create_channel_to(acme, receiver, "webhook", "Hook")
    receiver.answer(400, "no such room")
    sent = deliver(hook)
    url = f"deliveries/{sent.pk}/"
    assert "No attempts yet." in html_of(member, url)
    assert "Resend" not in html_of(member, url)

    run_deliveries()
    page = html_of(member, url)
    assert all(text in page for text in ("400", "no such room", "812.50 USD of 1,000.00 USD", "Spent"))

    receiver.answer(200, "ok")
    _fail(sent)
    assert "Resend" in html_of(member, url)
    assert "Resend" not in html_of(signed_in(cast.viewer), url)
    again = member.post(f"{URL}{url}resend/", follow=True)
    new = AlertDelivery.objects.get(resend_of=sent)
    assert again.redirect_chain == [(f"{URL}deliveries/{new.pk}/", 302)]
    assert f"delivery {sent.pk}</a>" in again.content.decode()
    assert "Resent as <a" in html_of(member, url)
    services.delete_channel(channel=hook, actor=ACTOR)
    assert "(deleted)," in html_of(member, url)
    assert "Resend" not in html_of(member, url)


def _fail(sent: AlertDelivery) -> None:
    AlertDelivery.objects.filter(pk=sent.pk).update(status="failed", next_attempt_at=None)


# Who


def test_a_viewer_sees_everything_but_buttons(acme: Account, cast: Cast, receiver: Receiver) -> None:
    hook = create_channel_to(acme, receiver, "webhook", "Hook")
    row = subscribe(acme, channel="Hook")
    sent = services.test_channel(channel=hook, actor=ACTOR)
    viewer = signed_in(cast.viewer)
    paths = ["", "channels/", f"channels/{hook.pk}/", f"subscriptions/{row.pk}/", f"deliveries/{sent.pk}/"]

    for path in paths:
        page = html_of(viewer, path)
        main = page[page.index("<main") : page.index("</main>")]
        assert "<form" not in re.sub(r'<form method="get".*?</form>', "", main, flags=re.DOTALL), path
        assert receiver.url not in page
        assert not SECRET.search(page)
        assert signed_in(cast.stranger).get(f"{URL}{path}").status_code == 404
    for path in ("channels/new/", f"channels/{hook.pk}/edit/", "subscriptions/new/"):
        assert viewer.get(f"{URL}{path}").status_code == 403
