"""The content of an alert, before a sender converts it to its channel's format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from django.conf import settings
from django.urls import reverse
from msgspec import Meta

from accounts.models import Account
from finops.lib.drawings.chart import ColumnChart


def console_url(account: Account, page: str, **arguments: object) -> str:
    """Return the absolute URL of a page of the account, by the name of its URL pattern."""
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
    """A label and its value. An amount names its currency: `1,234.50 USD` (finops.lib.sentences.money)."""

    label: str
    value: str


class Attachment(msgspec.Struct, frozen=True):
    """A CSV file, UTF-8."""

    name: str
    text: str


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """An alert as plain text of any length: each sender escapes it for its channel and truncates it to the channel's
    limits.

    `title` is one line that says what happened, `summary` one or two sentences with the figures, `url` the page that
    shows it. `dedup_key` is the same for every message about one subject (PagerDuty groups them into one incident)
    and differs between accounts; a message with `is_end` closes it. `data` has the same content as JSON, sent only by
    signed webhooks: amounts are {"amount": …, "currency": …}. `chart` is drawn in emails, `attachment` sent with
    them.
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


def currencies_in(data: Any) -> str:
    """Return the currencies of the amounts in a message's `data`, such as `EUR, USD`; its texts have these amounts."""
    return ", ".join(sorted(set(_currencies(data))))


def _currencies(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(currency := value.get("currency"), str) and currency:
            yield currency
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from _currencies(each)


def message_fields(message: Message) -> dict[str, Any]:
    """Return the message as JSON for storage, which `msgspec.convert` reads. NUL and lone surrogates, which names in
    bills may contain, are removed because PostgreSQL's JSON refuses them."""
    fields: dict[str, Any] = _storable(msgspec.to_builtins(message))
    return {name: value for name, value in fields.items() if value is not None}


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "").encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_storable(key): _storable(each) for key, each in value.items()}
    return [_storable(each) for each in value] if isinstance(value, list | tuple) else value
