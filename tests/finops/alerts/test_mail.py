"""Alerts by email, against a real mail server."""

from __future__ import annotations

import email
import email.policy
from datetime import timedelta
from email.message import EmailMessage

import pytest
from allauth.account.models import EmailAddress
from pytest_django import Settings

from accounts.audit import Actor
from accounts.models import Account, User
from accounts.scoping import account_scope
from finops.alerts import services
from finops.alerts.messages import Fact
from finops.alerts.senders import email as sender
from finops.lib.errors import UserError
from tests.cast import ACTOR, Cast
from tests.factories.days import NOON
from tests.factories.deliveries import (
    attempt_answers,
    create_mail_channel,
    deliver,
    message,
    reload,
    run_deliveries,
)
from tests.receivers import MailServer, smtp_server


def read(raw: bytes) -> EmailMessage:
    mail_message = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(mail_message, EmailMessage)
    return mail_message


def part(mail: EmailMessage, kind: str) -> str:
    body = mail.get_body((kind,))
    assert body is not None
    text: str = body.get_content()
    return text


def test_each_address_gets_a_mail_of_its_own_as_text_and_html(acme: Account, mail_server: MailServer) -> None:
    row = deliver(create_mail_channel(acme, "a@example.com", "b@example.com"))
    run_deliveries()

    assert reload(row).status == "delivered"
    assert attempt_answers(row) == [(None, "Accepted for a@example.com and b@example.com.")]
    assert [address for address, _ in mail_server.mails] == ["a@example.com", "b@example.com"]
    mail = read(mail_server.mails[0][1])
    assert (mail["To"], mail["Subject"]) == ("a@example.com", "Budget Platform has reached 80 %")
    assert (mail["Auto-Submitted"], mail["Message-ID"]) == (
        "auto-generated",
        f"<alert-{row.pk}@127.0.0.1>",
    )
    for kind in ("plain", "html"):
        for figure in ("812.50 USD of 1,000.00 USD", "1,000.00 USD", message().url):
            assert figure in part(mail, kind)


@pytest.mark.parametrize(
    "title",
    [
        "Budget\r\nBcc: evil@example.com\r\n\r\nhello",
        "Budget\nX-Evil: 1",
        "Budget\0\x1b[31m\u2028X-Evil: 1",
        "Kosten " + "ü€😀" * 400,
        "予算 " * 200,
    ],
    ids=["crlf", "newline", "controls", "emoji", "japanese"],
)
def test_no_name_adds_a_header_or_breaks_the_mail(acme: Account, mail_server: MailServer, title: str) -> None:
    row = deliver(create_mail_channel(acme, "a@example.com"), title=title)
    run_deliveries()

    assert reload(row).status == "delivered"
    assert [address for address, _ in mail_server.mails] == ["a@example.com"]
    mail = read(mail_server.mails[0][1])
    assert [mail["Bcc"], mail["X-Evil"]] == [None, None]
    assert len(mail["Subject"].strip()) <= 200
    assert mail["Subject"].strip().startswith(title[:3])
    assert all(len(line) <= 998 for line in mail_server.mails[0][1].splitlines())


def test_names_are_no_html(acme: Account, mail_server: MailServer) -> None:
    nasty = "<script>alert(1)</script><img src=x>"
    row = deliver(
        create_mail_channel(acme, "a@example.com"), title=nasty, summary=nasty, facts=(Fact(nasty, nasty),)
    )
    run_deliveries()

    assert reload(row).status == "delivered"
    html = part(read(mail_server.mails[0][1]), "html")
    assert not [each for each in ("<script>", "<img src=x>") if each in html]
    assert html.count("&lt;script&gt;alert(1)") == 5


def test_an_address_that_is_refused_for_now_is_tried_again_and_no_other(
    acme: Account, mail_server: MailServer
) -> None:
    mail_server.refuse = {"b@example.com": "451 mailbox is busy"}
    row = deliver(create_mail_channel(acme, "a@example.com", "b@example.com", "c@example.com"))
    run_deliveries()
    assert reload(row).status == "waiting"
    assert "b@example.com: 451" in attempt_answers(row)[0][1]

    mail_server.refuse = {}
    run_deliveries(at=NOON + timedelta(minutes=1))

    assert reload(row).status == "delivered"
    assert [address for address, _ in mail_server.mails] == [
        "a@example.com",
        "c@example.com",
        "b@example.com",
    ]


def test_an_address_that_is_unknown_fails_and_the_others_have_it(
    acme: Account, mail_server: MailServer
) -> None:
    mail_server.refuse = {"b@example.com": "550 no such user"}
    row = deliver(create_mail_channel(acme, "a@example.com", "b@example.com"))
    run_deliveries()

    assert reload(row).status == "failed"
    reply = attempt_answers(row)[0][1]
    assert "Rejected for b@example.com: 550 no such user" in reply
    assert "Accepted for a@example.com." in reply


@pytest.mark.parametrize(
    ("answer", "status"), [("554 no spam here", "failed"), ("451 later", "waiting")], ids=["final", "for now"]
)
def test_a_message_that_the_server_does_not_take(
    acme: Account, mail_server: MailServer, answer: str, status: str
) -> None:
    mail_server.answer = answer
    row = deliver(create_mail_channel(acme, "a@example.com"))
    run_deliveries()

    assert reload(row).status == status
    assert answer in attempt_answers(row)[0][1]


def test_a_slow_mail_server_is_left_before_the_claim_ends_and_the_rest_is_sent_later(
    acme: Account, mail_server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = deliver(create_mail_channel(acme, "a@example.com"))
    with monkeypatch.context() as patch:
        patch.setattr(sender, "SECONDS", -1.0)
        run_deliveries()
    assert (reload(row).status, mail_server.mails) == ("waiting", [])
    assert "The mail server timed out." in attempt_answers(row)[0][1]

    run_deliveries(at=NOON + timedelta(minutes=1))
    assert reload(row).status == "delivered"


def test_a_mail_server_that_is_away_is_waited_for(acme: Account, settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    with smtp_server() as stopped_server:
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", stopped_server.port
    row = deliver(create_mail_channel(acme, "a@example.com"))

    run_deliveries()

    assert reload(row).status == "waiting"
    assert "The mail server did not answer" in attempt_answers(row)[0][1]


def verify(user: User, address: str, *, verified: bool = True) -> None:
    EmailAddress.objects.create(user=user, email=address, verified=verified)


def test_a_test_is_mailed_to_verified_addresses_of_members_alone_and_says_nothing_of_the_sender(
    acme: Account, cast: Cast, mail_server: MailServer, settings: Settings
) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    verify(cast.member, "Mine@example.com")
    verify(cast.admin, "unverified@example.com", verified=False)
    verify(cast.stranger, "victim@example.com")
    addresses = ("mine@example.com", "unverified@example.com", "victim@example.com")
    channel = create_mail_channel(acme, *addresses, name="You won: click here", confirmed=False)

    row = services.test_channel(channel=channel, actor=ACTOR)

    assert row.status == "delivered"
    assert [address for address, _ in mail_server.mails] == ["mine@example.com"]
    assert read(mail_server.mails[0][1])["Subject"] == "Test message of an alert channel"
    assert "'unverified@example.com' and 'victim@example.com'" in attempt_answers(row)[0][1]
    with pytest.raises(UserError, match=r"No email is sent to 'victim@example\.com'"):
        services.test_channel(
            channel=create_mail_channel(acme, "victim@example.com", name="Other", confirmed=False),
            actor=ACTOR,
        )
    assert len(mail_server.mails) == 1


def test_test_mails_to_an_address_and_of_a_person_are_limited_over_all_accounts(
    acme: Account, cast: Cast, mail_server: MailServer
) -> None:
    with account_scope(cast.other_account):
        elsewhere = create_mail_channel(cast.other_account, cast.both.email, confirmed=False)
    here = create_mail_channel(acme, cast.both.email, confirmed=False)
    for _ in range(5):
        services.test_channel(channel=here, actor=Actor.of_user(cast.both))
        services.test_channel(channel=elsewhere, actor=Actor.of_user(cast.both))

    for actor in (Actor.of_user(cast.both), Actor.of_user(cast.member)):
        with pytest.raises(UserError, match=r"within an hour|within a minute"):
            services.test_channel(channel=elsewhere, actor=actor)
    assert len(mail_server.mails) == 10
