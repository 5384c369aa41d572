"""Channel targets by kind: parsing of user input, sealing, opening, and the part that may be shown."""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, ClassVar, Final
from urllib.parse import unquote, urlsplit

import msgspec
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from finops.alerts.body_templates import check_template
from finops.alerts.models import AlertChannel
from finops.lib import clock, outbound, sealing
from finops.lib.errors import UserError
from finops.lib.sentences import truncate

MAX_ADDRESSES: Final = 20
MAX_HEADERS: Final = 10
_LONG_ENOUGH: Final = 16
"""The length of a secret from which its last four characters may be shown."""

Kind = AlertChannel.Kind


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The destination of a channel. `shown` and `repr` have no secrets; `secrets` are texts that no output may have."""

    fields: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shown})"

    @property
    def shown(self) -> str:
        """The part that may be shown: empty, unless the kind has parts that are not secret."""
        return ""

    def secrets(self) -> Iterator[str]:
        yield from ()


class UrlTarget(Target, frozen=True, kw_only=True):
    """The target of Slack and Microsoft Teams. Anyone who has the URL may post to it."""

    fields: ClassVar[tuple[str, ...]] = ("url",)
    url: str

    @property
    def shown(self) -> str:
        return _shown_url(self.url)

    def secrets(self) -> Iterator[str]:
        yield from _parts_of(self.url)


class EmailTarget(Target, frozen=True, kw_only=True):
    fields: ClassVar[tuple[str, ...]] = ("addresses",)
    addresses: tuple[str, ...]

    @property
    def shown(self) -> str:
        return truncate(", ".join(self.addresses), 300)


class PagerDutyTarget(Target, frozen=True, kw_only=True):
    """The target of PagerDuty. An empty `url` means the installation's own (PAGERDUTY_EVENTS_URL)."""

    fields: ClassVar[tuple[str, ...]] = ("routing_key", "url")
    routing_key: str
    url: str = ""

    @property
    def events_url(self) -> str:
        return self.url or settings.PAGERDUTY_EVENTS_URL

    @property
    def shown(self) -> str:
        return f"{_host(self.events_url)}, key …{self.routing_key[-4:]}"

    def secrets(self) -> Iterator[str]:
        yield self.routing_key
        yield from _parts_of(self.url)


class WebhookTarget(Target, frozen=True, kw_only=True):
    """The target of a webhook. `headers` are sent with each message. `template`: the JSON body with placeholders
    (`body_templates.py`); empty for the documented body. `previous_secret` signs as well until `previous_until`."""

    fields: ClassVar[tuple[str, ...]] = ("url", "headers", "template")
    url: str
    signing_secret: str
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    template: str = ""
    previous_secret: str = ""
    previous_until: datetime | None = None

    @property
    def shown(self) -> str:
        return ", ".join([_shown_url(self.url), *self.headers, *(["own body"] if self.template else [])])

    def secrets(self) -> Iterator[str]:
        yield from (self.signing_secret, self.previous_secret, *_parts_of(self.url))
        for value in self.headers.values():
            yield from (value, *value.split())

    def signing_secrets(self) -> list[str]:
        still = self.previous_until is not None and clock.now() < self.previous_until
        return [self.signing_secret, self.previous_secret] if still else [self.signing_secret]


_TYPES: Final[Mapping[str, type[Target]]] = {
    Kind.SLACK: UrlTarget,
    Kind.MICROSOFT_TEAMS: UrlTarget,
    Kind.EMAIL: EmailTarget,
    Kind.PAGERDUTY: PagerDutyTarget,
    Kind.WEBHOOK: WebhookTarget,
}


def read_target(kind: str, fields_given: Mapping[str, object], *, signing_secret: str = "") -> Target:
    """Parse and validate a target; a webhook signs with the secret. Raises UserError with the field. Looks up a URL's
    host in DNS: up to 5 s."""
    unknown = [name for name in fields_given if name not in _TYPES[kind].fields]
    if unknown:
        fields = ", ".join(_TYPES[kind].fields)
        raise UserError(f"{unknown[0]}: channels of kind {kind} take {fields}.", field=unknown[0])
    return _READERS[kind](fields_given, signing_secret)


def seal_target(target: Target, account_id: int) -> str:
    return sealing.seal(msgspec.to_builtins(target), purpose=_purpose(account_id))


def target_of(channel: AlertChannel) -> Target:
    """Return the channel's target. Raises sealing.Unsealable when the server's key no longer exists."""
    plaintext = sealing.unseal(channel.target, purpose=_purpose(channel.account_id))
    return msgspec.convert(plaintext, _TYPES[channel.kind])


def is_sealed_now(channel: AlertChannel) -> bool:
    """Return whether the target is sealed with the current key; False if only an earlier key opens it."""
    return sealing.is_current(channel.target, purpose=_purpose(channel.account_id))


def new_signing_secret() -> str:
    """Return a signing secret in the format of Standard Webhooks: 32 random bytes."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def redact_secrets(text: str, target: Target) -> str:
    """Remove the target's secrets from the text: a receiver may repeat what it was sent."""
    for secret in sorted(set(target.secrets()), key=len, reverse=True):
        text = text.replace(secret, "…") if len(secret) >= 6 else text
    return text


def _purpose(account_id: int) -> str:
    return f"alert channel of account {account_id}"


def _url_target(values: Mapping[str, object], _signing_secret: str) -> Target:
    return UrlTarget(url=_url(values))


def _email_target(values: Mapping[str, object], _signing_secret: str) -> Target:
    raw = values.get("addresses", ())
    parts = re.split(r"[\s,;]+", raw) if isinstance(raw, str) else raw
    if not isinstance(parts, list | tuple) or not all(isinstance(each, str) for each in parts):
        raise UserError("addresses: enter one email address per line.", field="addresses")
    addresses = {each.casefold(): each for each in parts if each}
    for address in addresses.values():
        _check_address(address)
    if not 1 <= len(addresses) <= MAX_ADDRESSES:
        raise UserError(
            f"addresses: {len(addresses)} email addresses; the maximum is {MAX_ADDRESSES}. Use a "
            "mailing list for more people.",
            field="addresses",
        )
    return EmailTarget(addresses=tuple(addresses.values()))


def _check_address(address: str) -> None:
    try:
        validate_email(address)
    except ValidationError as error:
        raise UserError(
            f"addresses: {truncate(address, 80)!r} is not an email address.",
            field="addresses",
            value=address[:320],
        ) from error


def _pagerduty_target(values: Mapping[str, object], _signing_secret: str) -> Target:
    key = str(values.get("routing_key", "")).strip()
    if not re.fullmatch(r"[0-9A-Za-z]{32}", key):
        raise UserError(
            (
                "routing_key: enter the integration key of an Events API v2 integration, 32 letters and "
                "digits."
            ),
            field="routing_key",
        )
    return PagerDutyTarget(routing_key=key, url=_url(values) if str(values.get("url", "")).strip() else "")


def _webhook_target(values: Mapping[str, object], signing_secret: str) -> Target:
    template = str(values.get("template", "")).strip()
    check_template(template)
    return WebhookTarget(
        url=_url(values, needs_path=not template),  # ntfy reads JSON at the root
        headers=_headers(str(values.get("headers", ""))),
        template=template,
        signing_secret=signing_secret or new_signing_secret(),
    )


_HEADER: Final = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]+)[ \t]*:[ \t]*([!-~](?:[ -~]*[!-~])?)")
_OURS: Final = frozenset(
    (
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "transfer-encoding",
        "user-agent",
        "webhook-id",
        "webhook-signature",
        "webhook-timestamp",
    )
)
"""Headers of each message, which a channel cannot set; in lower case."""


def _headers(text: str) -> dict[str, str]:
    """Return headers of lines such as `Authorization: Bearer abc`. Raises UserError."""
    headers: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        header = _HEADER.fullmatch(line)
        if header is None:
            raise UserError("headers: write one per line, as Name: value in ASCII.", field="headers")
        name = header[1]
        if name.lower() in _OURS or name.lower() in map(str.lower, headers):
            raise UserError(f"headers: {name[:80]} is set already.", field="headers")
        headers[name] = header[2]
    if len(headers) > MAX_HEADERS:
        raise UserError(f"headers: {len(headers)} headers; the maximum is {MAX_HEADERS}.", field="headers")
    return headers


_READERS: Final[Mapping[str, Callable[[Mapping[str, object], str], Target]]] = {
    Kind.SLACK: _url_target,
    Kind.MICROSOFT_TEAMS: _url_target,
    Kind.EMAIL: _email_target,
    Kind.PAGERDUTY: _pagerduty_target,
    Kind.WEBHOOK: _webhook_target,
}


def _url(values: Mapping[str, Any], *, needs_path: bool = True) -> str:
    url = str(values.get("url", "")).strip()
    outbound.check_url(url, field="url")
    if needs_path and urlsplit(url).path in ("", "/"):
        raise UserError("url: enter the full webhook URL, including its path.", field="url")
    return url


def _parts_of(url: str) -> Iterator[str]:
    """Yield the secrets of a URL: all but its host, also in parts and spellings that a receiver's error may repeat."""
    parts = urlsplit(url)
    for text in (url, parts.path, parts.query, *re.split(r"[/?&=]", f"{parts.path}&{parts.query}")):
        yield from (text, unquote(text))


def _shown_url(url: str) -> str:
    path = url.partition("://")[2].partition("/")[2]
    end = path[-4:] if len(path) >= _LONG_ENOUGH else ""
    return f"{_host(url)}/…{end}"


def _host(url: str) -> str:
    return urlsplit(url).netloc
