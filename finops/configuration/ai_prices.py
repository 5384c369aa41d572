"""An account's own AI prices in configuration as code: a price by its model as prices are looked up, token type and first day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final

import msgspec

from accounts.audit import Actor
from accounts.models import Account
from finops.ai_spend.models import AiPrice
from finops.ai_spend.price_files import EnteredPrice, checked_price
from finops.ai_spend.services import delete_price, enter_price
from finops.configuration.kind import Bodies, Body, ConfigurationKind, plain_decimal, read_entry


class _AiPriceEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    model: str
    token_type: str
    price_per_million: Decimal
    currency: str
    valid_from: date


def _rows() -> dict[str, Body]:
    return dict(_body(row) for row in AiPrice.objects.all())


def _body(price: AiPrice | EnteredPrice) -> tuple[str, Body]:
    """`GPT-5 mini` and `gpt-5-mini` are one model, so they are one row."""
    body = {
        "model": price.model,
        "token_type": price.token_type,
        "price_per_million": plain_decimal(price.price_per_million),
        "currency": price.currency,
        "valid_from": str(price.valid_from),
    }
    return f"{price.model_key} {price.token_type} {price.valid_from}", body


def _read(raw: Any) -> tuple[str, Body]:
    entry = read_entry(raw, _AiPriceEntry)
    amount = entry.price_per_million
    digits = plain_decimal(amount) if amount.is_finite() else str(amount)
    return _body(checked_price(entry.model, entry.token_type, digits, entry.currency, entry.valid_from))


def _write(account: Account, actor: Actor, bodies: Bodies) -> None:
    for body in bodies.values():
        enter_price(
            account=account,
            actor=actor,
            model=body["model"],
            token_type=body["token_type"],
            price_per_million=body["price_per_million"],
            currency=body["currency"],
            valid_from=date.fromisoformat(body["valid_from"]),
        )


def _delete(actor: Actor, names: Sequence[str]) -> None:
    selection = set(names)
    for row in AiPrice.objects.all():
        if _body(row)[0] in selection:
            delete_price(price=row, actor=actor)


KIND: Final = ConfigurationKind("ai_prices", _rows, _read, _write, _delete)
