"""Alerts by email go to addresses that a member verified, or that confirmed."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import partial

import pytest
from django.core import mail
from django.test import Client

from accounts.models import Account, AuditEntry, UnsentMail
from accounts.scoping import account_scope
from accounts.tasks import send_unsent_mails
from finops.alerts import queries, services
from finops.alerts.models import AlertRecipient
from finops.alerts.recipients import recipient_url, request_confirmations
from finops.alerts.schemas import DeliveriesQuery
from finops.lib import clock
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.alerts import subscription_draft
from tests.factories.days import NOON
from tests.factories.deliveries import attempt_answers, create_mail_channel, deliver, reload, run_deliveries

OTHER = "other@example.org"


unconfirmed_channel = partial(create_mail_channel, confirmed=False)


def confirmations() -> list[tuple[str, str]]:
    """To whom, and the path of its link."""
    send_unsent_mails()
    bodies = [
        (email.to[0], str(email.body)) for email in mail.outbox if email.subject == "Confirm alerts by email"
    ]
    mail.outbox.clear()
    return [(to, re.findall(r"https?://[^/]+(/alerts/recipients/\S+)", body)[0]) for to, body in bodies]


def test_an_address_that_nobody_verified_gets_no_alert_until_it_confirms(acme: Account, cast: Cast) -> None:
    channel = unconfirmed_channel(acme, OTHER, cast.member.email)
    row = deliver(channel)
    run_deliveries()
    assert [email.to for email in mail.outbox] == [[cast.member.email]]
    assert f"No email is sent to '{OTHER}' until the address is confirmed." in attempt_answers(row)[0][1]
    mail.outbox.clear()
    pages = signed_in(cast.viewer)
    for path in ("deliveries/", f"deliveries/{row.pk}/", f"channels/{channel.pk}/"):
        page = pages.get(f"/a/{acme.slug}/alerts/{path}").content.decode()
        assert "Delivered in part" in page, path
        assert OTHER in page, path
    answer = queries.list_alert_deliveries(acme, DeliveriesQuery())
    assert answer.summary.endswith("of the 1 listed: 1 partly delivered.")
    assert OTHER in answer.deliveries[0].answer

    ((to, path),) = confirmations()
    assert to == OTHER
    assert "Subscribe</button>" in Client().get(path).content.decode()
    Client().post(f"{path}confirm/")
    deliver(channel)
    run_deliveries()
    assert {email.to[0] for email in mail.outbox} == {OTHER, cast.member.email}
    answer = queries.list_alert_deliveries(acme, DeliveriesQuery())
    assert answer.summary.endswith("of the 2 listed: 1 delivered and 1 partly delivered.")


def test_an_attempt_names_every_address_that_was_left_out(acme: Account, cast: Cast) -> None:
    addresses = [f"{'a' * 40}{n}@{'b' * 40}.example.org" for n in range(19)]
    row = deliver(unconfirmed_channel(acme, cast.member.email, *addresses))
    run_deliveries()
    assert [address for address in addresses if address not in attempt_answers(row)[0][1]] == []


def test_an_alert_that_waits_arrives_when_the_address_confirms(acme: Account) -> None:
    row = deliver(unconfirmed_channel(acme, OTHER))
    run_deliveries()
    assert (reload(row).status, mail.outbox) == ("waiting", [])
    ((_to, path),) = confirmations()
    Client().post(f"{path}confirm/")

    run_deliveries(at=NOON + timedelta(hours=1))

    assert reload(row).status == "delivered"
    assert mail.outbox[-1].to == [OTHER]


def test_each_alert_leads_to_where_one_click_unsubscribes(acme: Account, cast: Cast) -> None:
    channel = unconfirmed_channel(acme, cast.member.email)
    deliver(channel)
    run_deliveries()
    email = mail.outbox[-1]
    headers = email.extra_headers
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    url = headers["List-Unsubscribe"].strip("<>")
    assert url.removesuffix("unsubscribe/") in str(email.body)
    path = re.sub(r"https?://[^/]+", "", url)

    program = Client(enforce_csrf_checks=True)
    page = program.get(path, follow=True)
    assert page.redirect_chain == [(path.removesuffix("unsubscribe/"), 302)]
    assert "Unsubscribe</button>" in page.content.decode()
    for _twice in range(2):
        assert program.post(path, {"List-Unsubscribe": "One-Click"}).status_code == 200
    assert AuditEntry.objects.filter(action="alert_recipient.unsubscribe").count() == 1
    assert program.post(path.replace("unsubscribe/", "confirm/")).status_code == 403

    mail.outbox.clear()
    row = deliver(channel)
    run_deliveries()
    assert mail.outbox == []
    assert ": unsubscribed." in attempt_answers(row)[0][1]
    with account_scope(cast.other_account):
        deliver(unconfirmed_channel(cast.other_account, cast.both.email))
        run_deliveries()
    assert [each.to for each in mail.outbox] == [[cast.both.email]]


@pytest.mark.parametrize("change", ["x", ".x", ":x"])
def test_a_link_that_is_not_ours_leads_nowhere(acme: Account, change: str) -> None:
    path = re.sub(r"https?://[^/]+", "", recipient_url(acme, OTHER)).rstrip("/")

    assert Client().get(f"{path}{change}/").status_code == 404
    assert Client().post(f"{path}{change}/confirm/").status_code == 404


def test_confirmation_mails_are_limited_for_the_address_and_the_account(acme: Account, cast: Cast) -> None:
    channel = unconfirmed_channel(acme, OTHER)
    services.change_channel(channel=channel, actor=ACTOR, name="Again", target={"addresses": [OTHER]})
    assert UnsentMail.objects.count() == 1
    other_accounts = [Account.objects.create(name=f"Account {n}", slug=f"account-{n}") for n in range(4)]
    for account in other_accounts:
        request_confirmations(account=account, addresses=[OTHER])
    assert UnsentMail.objects.count() == 3

    request_confirmations(account=acme, addresses=[f"p{n}@example.org" for n in range(30)])
    assert AlertRecipient.objects.filter(account=acme, requested_at__isnull=False).count() == 20

    with clock.frozen(NOON + timedelta(days=2)):
        request_confirmations(account=other_accounts[3], addresses=[OTHER])
    assert UnsentMail.objects.count() == 23


def test_the_first_sentence_about_a_subscription_says_who_gets_nothing_yet(acme: Account) -> None:
    unconfirmed_channel(acme, OTHER)
    new = services.create_alert_subscription(
        account=acme, actor=ACTOR, draft=subscription_draft(channel="Mail")
    )

    answer = queries.new_subscription_answer(acme, new.subscription.pk, new.notes)

    assert f"; no email is sent to '{OTHER}' until the address is confirmed." in answer.summary


def test_the_page_of_a_recipient_needs_no_sign_in_and_no_account_in_scope(cast: Cast) -> None:
    path = re.sub(r"https?://[^/]+", "", recipient_url(cast.account, OTHER))
    client = Client()

    first = client.get(path).content.decode()
    assert "Not subscribed" in first
    assert "Decline</button>" in first
    assert "Unsubscribe</button>" in client.post(f"{path}confirm/", follow=True).content.decode()
    last = client.post(f"{path}unsubscribe/", follow=True).content.decode()
    assert "Not subscribed" in last
    assert "Decline</button>" not in last
    log = AuditEntry.objects.unscoped().filter(account=cast.account, action__startswith="alert_recipient.")
    assert list(log.order_by("pk").values_list("action", "target")) == [
        ("alert_recipient.confirm", OTHER),
        ("alert_recipient.unsubscribe", OTHER),
    ]
