from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from accounts.models import UnsentMail, User
from accounts.services import mails
from accounts.tasks import send_unsent_mails
from tests.servers import free_port

pytestmark = pytest.mark.django_db
WORKS = "django.core.mail.backends.locmem.EmailBackend"
NOT_YET = "The email was not sent yet. It is sent when the mail server is available."


@pytest.fixture(autouse=True)
def _one_confirmation_in_three_minutes() -> None:
    """allauth counts them in the cache, and all of these are for one address."""
    cache.clear()


@pytest.fixture
def no_mail_server(settings: Settings) -> None:
    """No mail server listens."""
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", free_port()


def sign_up(client: Client, email: str = "ann@example.com") -> Any:
    return client.post(
        reverse("account_signup"), {"email": email, "password1": "correct horse battery"}, follow=True
    )


def due() -> None:
    UnsentMail.objects.update(next_attempt_at=timezone.now())


def test_without_a_mail_server_the_sign_up_is_kept_and_the_mail_goes_out_when_it_is_back(
    no_mail_server: None, client: Client, settings: Settings
) -> None:
    answer = sign_up(client)

    page = answer.content.decode()
    assert answer.status_code == 200
    assert NOT_YET in page
    assert "email sent" not in page.lower()
    assert User.objects.filter(email="ann@example.com").exists()
    assert "example.com" not in UnsentMail.objects.get().sealed

    due()
    send_unsent_mails()  # still away
    assert UnsentMail.objects.get().attempts == 2

    settings.EMAIL_BACKEND = WORKS
    send_unsent_mails()  # not due yet
    assert UnsentMail.objects.count() == 1
    due()
    send_unsent_mails()
    send_unsent_mails()
    (email,) = mail.outbox
    assert email.to == ["ann@example.com"]
    assert "/confirm-email/" in str(email.body)
    assert not UnsentMail.objects.exists()


def test_a_password_reset_says_the_same_for_every_address(no_mail_server: None, client: Client) -> None:
    for email in ("nobody@example.com", User.objects.create_user("ann@example.com", "x" * 12).email):
        page = client.post(reverse("account_reset_password"), {"email": email}, follow=True).content.decode()
        assert NOT_YET in page
    assert UnsentMail.objects.count() == 2


def test_the_next_request_does_not_wait_for_the_mail_server(
    no_mail_server: None, client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_up(client)

    def fail(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr("django.core.mail.backends.smtp.EmailBackend.open", fail)
    assert NOT_YET in sign_up(Client(), "ben@example.com").content.decode()


def test_a_mail_whose_links_are_dead_is_dropped(no_mail_server: None, client: Client) -> None:
    sign_up(client)
    UnsentMail.objects.update(created_at=timezone.now() - mails.MAX_AGE - timedelta(seconds=1))
    send_unsent_mails()
    assert not UnsentMail.objects.exists()


def test_with_a_working_mail_server_no_mail_is_stored_and_the_page_says_sent(
    client: Client, settings: Settings
) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    page = sign_up(client).content.decode()
    assert "Verification email sent to ann@example.com" in page
    assert NOT_YET not in page
    assert len(mail.outbox) == 1
    assert not UnsentMail.objects.exists()
