"""E-mail, by the installation's own mail server: one message for each address, so that one that is refused neither hides
nor holds up the others. An address that had it is left out of later attempts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from smtplib import (
    SMTPAuthenticationError,
    SMTPException,
    SMTPRecipientsRefused,
    SMTPResponseException,
    SMTPSenderRefused,
)
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.template.loader import render_to_string

from finops.alerts.channels import EmailTarget
from finops.alerts.messages import Message
from finops.alerts.senders.outcome import MAX_ANSWER, Outcome, Sending, Verdict, one_line
from finops.lib.spoken import cut, listed

_SUBJECT: Final = 200
SECONDS: Final = 120.0
"""For all addresses of an attempt; the one that is being sent then takes a minute more at most (EMAIL_TIMEOUT)."""


def send(target: EmailTarget, sending: Sending) -> Outcome:
    left = [address for address in target.addresses if address not in sending.arrived]
    connection, deadline = get_connection(), time.monotonic() + SECONDS
    try:
        connection.open()
        results = {address: _sent_by(deadline, connection, address, sending) for address in left}
    except (SMTPException, OSError) as error:
        return Outcome(verdict="again", answer=cut(_said(error), MAX_ANSWER), arrived=sending.arrived)
    finally:
        _close(connection)
    return _outcome(results, sending.arrived)


def mail(address: str, sending: Sending) -> EmailMultiAlternatives:
    message, url = sending.message, sending.unsubscribe_urls.get(address, "")
    found = EmailMultiAlternatives(
        subject=cut(one_line(message.title), _SUBJECT),
        body=_text(message, sending.account_name, url),
        to=[address],
        headers={
            "Message-ID": f"<alert-{sending.delivery_id}@{urlsplit(settings.PUBLIC_URL).hostname}>",
            "Auto-Submitted": "auto-generated",
            "X-Auto-Response-Suppress": "All",
            **_unsubscribe_headers(url),
        },
    )
    context = {"message": message, "account_name": sending.account_name, "unsubscribe_url": url}
    found.attach_alternative(render_to_string("alerts/mail/message.html", context), "text/html")
    return found


def _unsubscribe_headers(url: str) -> dict[str, str]:
    """RFC 8058: a mail program's own button posts there."""
    if not url:
        return {}
    return {
        "List-Unsubscribe": f"<{url}unsubscribe/>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }


def _sent_by(
    deadline: float, connection: BaseEmailBackend, address: str, sending: Sending
) -> tuple[Verdict, str]:
    if time.monotonic() > deadline:
        return "again", "The mail server was too slow for it."
    return _sent(connection, address, sending)


def _sent(connection: BaseEmailBackend, address: str, sending: Sending) -> tuple[Verdict, str]:
    try:
        connection.send_messages([mail(address, sending)])
    except SMTPRecipientsRefused as error:
        code, said = next(iter(error.recipients.values()))
        return _verdict(code), _words(code, said)
    except (SMTPSenderRefused, SMTPAuthenticationError) as error:
        # Ours to mend, by who runs the installation: worth another attempt whatever the code.
        return "again", _said(error)
    except SMTPResponseException as error:
        return _verdict(error.smtp_code), _said(error)
    except (SMTPException, OSError) as error:
        return "again", _said(error)
    return "delivered", ""


def _outcome(results: dict[str, tuple[Verdict, str]], before: Sequence[str]) -> Outcome:
    arrived = [*before, *(address for address, (verdict, _) in results.items() if verdict == "delivered")]
    verdicts = {verdict for verdict, _ in results.values()}
    verdict: Verdict = "again" if "again" in verdicts else "failed" if "failed" in verdicts else "delivered"
    refused = [f"{address}: {said}" for address, (_, said) in results.items() if said]
    parts = [f"Not taken for {'; '.join(refused)}"] if refused else []
    parts += [f"Taken for {listed(arrived)}."] if arrived else []
    return Outcome(verdict=verdict, answer=cut(" ".join(parts), MAX_ANSWER), arrived=tuple(arrived))


def _close(connection: BaseEmailBackend) -> None:
    """A server that is gone takes no goodbye."""
    try:
        connection.close()
    except (SMTPException, OSError):
        return


def _verdict(code: int) -> Verdict:
    return "failed" if 500 <= code < 600 else "again"


def _said(error: Exception) -> str:
    if isinstance(error, SMTPResponseException):
        return _words(error.smtp_code, error.smtp_error)
    return f"The mail server did not answer: {one_line(str(error)) or type(error).__name__}."


def _words(code: int, said: bytes | str) -> str:
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    return f"{code} {one_line(text)}"


def _text(message: Message, account_name: str, unsubscribe_url: str) -> str:
    width = max((len(one_line(fact.label)) for fact in message.facts), default=0)
    facts = [f"{one_line(fact.label):<{min(width, 40)}}  {one_line(fact.value)}" for fact in message.facts]
    parts = [one_line(message.title), message.summary, "\n".join(facts), f"See it: {message.url}"]
    footer = (
        f"An alert of {one_line(account_name)} in the FinOps Console. Its page Alerts changes or ends it."
    )
    if unsubscribe_url:
        footer = f"{footer}\nUnsubscribe: {unsubscribe_url}"
    return "\n\n".join([*(part for part in parts if part.strip()), "-- \n" + footer]) + "\n"
