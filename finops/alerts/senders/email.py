"""Email through the installation's mail server. Each address gets its own message, so that a rejected address
neither hides nor delays the others. Later attempts skip addresses that already have the message."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
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

from finops.alerts.channel_targets import EmailTarget
from finops.alerts.messages import Message
from finops.alerts.senders.outcome import MAX_ANSWER, DeliveryOutcome, Envelope, Verdict, one_line
from finops.lib.mail import MailWithFiles, attach_html, chart_image
from finops.lib.sentences import join_with_and, truncate

_SUBJECT: Final = 200
SECONDS: Final = 120.0
"""The time limit for all addresses of an attempt; the address in progress may take another minute (EMAIL_TIMEOUT)."""


def send(target: EmailTarget, envelope: Envelope) -> DeliveryOutcome:
    remaining = [address for address in target.addresses if address not in envelope.arrived]
    connection, deadline = get_connection(), time.monotonic() + SECONDS
    try:
        connection.open()
        results = {address: _send_one(deadline, connection, address, envelope) for address in remaining}
    except (SMTPException, OSError) as error:
        return DeliveryOutcome(
            verdict="again", answer=truncate(_error_text(error), MAX_ANSWER), arrived=envelope.arrived
        )
    finally:
        with suppress(SMTPException, OSError):
            connection.close()
    return _outcome(results, envelope.arrived)


def mail(address: str, envelope: Envelope) -> EmailMultiAlternatives:
    message, url = envelope.message, envelope.unsubscribe_urls.get(address, "")
    email = MailWithFiles(
        subject=truncate(one_line(message.title), _SUBJECT),
        body=_text(message, envelope.account_name, url),
        to=[address],
        headers={
            "Message-ID": f"<alert-{envelope.delivery_id}@{urlsplit(settings.PUBLIC_URL).hostname}>",
            "Auto-Submitted": "auto-generated",
            "X-Auto-Response-Suppress": "All",
            **_unsubscribe_headers(url),
        },
    )
    images = [chart_image(message.chart, "chart")] if message.chart is not None else []
    context = {
        "message": message,
        "button": "Open report" if message.kind == "report" else "Open in the console",
        "origin": _origin(message, envelope.account_name),
        "unsubscribe_url": url,
        "facts": [(fact.label, fact.value) for fact in message.facts],
    }
    attach_html(email, "alerts/mail/message.html", context, images)
    if message.attachment is not None:
        email.attach_csv(message.attachment.name, message.attachment.text)
    return email


def _origin(message: Message, account_name: str) -> str:
    """Return who sent the email, and where to change that."""
    noun, page = ("Report", "Reports") if message.kind == "report" else ("Alert", "Alerts")
    return f"{noun} from {one_line(account_name)} in the FinOps Console. Manage it on the {page} page."


def _unsubscribe_headers(url: str) -> dict[str, str]:
    """Return the headers of one-click unsubscribe (RFC 8058): the mail program's own button posts to the URL."""
    if not url:
        return {}
    return {
        "List-Unsubscribe": f"<{url}unsubscribe/>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }


def _send_one(
    deadline: float, connection: BaseEmailBackend, address: str, envelope: Envelope
) -> tuple[Verdict, str]:
    if time.monotonic() > deadline:
        return "again", "The mail server timed out."
    try:
        connection.send_messages([mail(address, envelope)])
    except SMTPRecipientsRefused as error:
        code, smtp_error = next(iter(error.recipients.values()))
        return _verdict(code), _reply_text(code, smtp_error)
    except (SMTPSenderRefused, SMTPAuthenticationError) as error:
        # An error of the installation's setup, which its operator can fix: retry whatever the code.
        return "again", _error_text(error)
    except SMTPResponseException as error:
        return _verdict(error.smtp_code), _error_text(error)
    except (SMTPException, OSError) as error:
        return "again", _error_text(error)
    return "delivered", ""


def _outcome(results: dict[str, tuple[Verdict, str]], before: Sequence[str]) -> DeliveryOutcome:
    arrived = [*before, *(address for address, (verdict, _) in results.items() if verdict == "delivered")]
    verdicts = {verdict for verdict, _ in results.values()}
    verdict: Verdict = "again" if "again" in verdicts else "failed" if "failed" in verdicts else "delivered"
    rejections = [f"{address}: {reply}" for address, (_, reply) in results.items() if reply]
    parts = [f"Rejected for {'; '.join(rejections)}"] if rejections else []
    parts += [f"Accepted for {join_with_and(arrived)}."] if arrived else []
    return DeliveryOutcome(
        verdict=verdict, answer=truncate(" ".join(parts), MAX_ANSWER), arrived=tuple(arrived)
    )


def _verdict(code: int) -> Verdict:
    return "failed" if 500 <= code < 600 else "again"


def _error_text(error: Exception) -> str:
    if isinstance(error, SMTPResponseException):
        return _reply_text(error.smtp_code, error.smtp_error)
    return f"The mail server did not answer: {one_line(str(error)) or type(error).__name__}."


def _reply_text(code: int, reply: bytes | str) -> str:
    text = reply.decode(errors="replace") if isinstance(reply, bytes) else reply
    return f"{code} {one_line(text)}"


def _text(message: Message, account_name: str, unsubscribe_url: str) -> str:
    width = max((len(one_line(fact.label)) for fact in message.facts), default=0)
    facts = [f"{one_line(fact.label):<{min(width, 40)}}  {one_line(fact.value)}" for fact in message.facts]
    parts = [one_line(message.title), message.summary, "\n".join(facts), f"View: {message.url}"]
    footer = _origin(message, account_name)
    if unsubscribe_url:
        footer = f"{footer}\nUnsubscribe: {unsubscribe_url}"
    return "\n\n".join([*(part for part in parts if part.strip()), "-- \n" + footer]) + "\n"
