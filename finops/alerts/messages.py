"""What an alert says, before a sender puts it into its channel's form."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from django.conf import settings
from django.urls import reverse
from msgspec import Meta

from accounts.models import Account
from finops.lib.drawings.chart import ColumnChart


def console_url(account: Account, page: str, **arguments: object) -> str:
    """The whole address of a page of the account, by the name of its URL."""
    return f"{settings.PUBLIC_URL}{reverse(page, kwargs={'slug': account.slug, **arguments})}"


Severity = Literal["info", "warning", "critical"]
MessageKind = Literal[
    "budget",
    "anomaly",
    "digest",
    "import",
    "source",
    "saved_view",
    "unit_cost",
    "forecast",
    "report",
    "end",
    "test",
]


class Fact(msgspec.Struct, frozen=True):
    """One figure. An amount's value names its currency: `1,234.50 USD` (finops.lib.sentences.money)."""

    label: str
    value: str


class Attachment(msgspec.Struct, frozen=True):
    """A CSV file, UTF-8."""

    name: str
    text: str


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Plain text throughout, of any length: each sender escapes it for its channel and cuts it to what that takes.

    `title` is one line that alone says what happened, `summary` one or two sentences with the figures, `url` the page
    that shows it. `dedup_key` is the same for every message about the same thing (PagerDuty gathers them in one
    incident) and differs between accounts; one that `is_end` closes it. `data` is the same for programs, JSON, sent by signed webhooks alone: amounts are
    {"amount": …, "currency": …}. `chart` is drawn in e-mails, `attachment` sent with them.
    """

    title: str
    summary: str
    facts: tuple[Fact, ...] = ()
    url: str
    severity: Severity = "info"
    kind: MessageKind
    is_end: bool = False
    dedup_key: Annotated[str, Meta(min_length=1, max_length=255)]
    data: dict[str, Any] = {}
    chart: ColumnChart | None = None
    attachment: Attachment | None = None


def message_fields(message: Message) -> dict[str, Any]:
    """As a row keeps it, and `msgspec.convert` reads it. Without NUL and lone surrogates, which names in bills may have
    and PostgreSQL's JSON has not."""
    fields: dict[str, Any] = _storable(msgspec.to_builtins(message))
    return {name: value for name, value in fields.items() if value is not None}


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "").encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_storable(key): _storable(each) for key, each in value.items()}
    return [_storable(each) for each in value] if isinstance(value, list | tuple) else value
