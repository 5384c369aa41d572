"""Writes of an account's own AI prices."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope, existing, lock_account
from finops.ai_spend.models import AiPrice
from finops.ai_spend.price_files import MAX_PRICES, EnteredPrice, checked_price, prices_of_csv
from finops.lib import clock
from finops.lib.errors import UserError


@transaction.atomic
def enter_price(
    *,
    account: Account,
    actor: Actor,
    model: str,
    token_type: str,
    price_per_million: str,
    currency: str,
    valid_from: date,
) -> AiPrice:
    """Enter a price; it replaces one of the same model, token type and first day. Raises UserError, with the field."""
    price = checked_price(model, token_type, price_per_million, currency, valid_from)
    with account_scope(account):
        lock_account(account)
        _store(account, [price], actor)
        row = AiPrice.objects.get(
            model_key=price.model_key, token_type=price.token_type, valid_from=price.valid_from
        )
    audit.record(account=account, actor=actor, action="ai_price.enter", target=str(row))
    return row


@transaction.atomic
def upload_prices(*, account: Account, actor: Actor, content: bytes, name: str) -> int:
    """Store the prices of a CSV and return their number; they replace those of the same models, token types and first
    days. Raises UserError with each invalid line, and then stores none."""
    prices = prices_of_csv(content)
    with account_scope(account):
        lock_account(account)
        _store(account, prices, actor)
    audit.record(
        account=account,
        actor=actor,
        action="ai_price.upload",
        target=name[:100],
        detail={"prices": len(prices)},
    )
    return len(prices)


@transaction.atomic
def delete_price(*, price: AiPrice, actor: Actor) -> None:
    """Delete a price. Raises UserError if it no longer exists."""
    account = price.account
    with account_scope(account):
        lock_account(account)
        row = existing(AiPrice.objects.all(), price, "AI price")
        row.delete()
    audit.record(account=account, actor=actor, action="ai_price.delete", target=str(row))


def _store(account: Account, prices: Sequence[EnteredPrice], actor: Actor) -> None:
    """Store prices; the account is locked and in scope. Raises UserError beyond MAX_PRICES."""
    rows = [
        AiPrice(
            account=account,
            model=price.model,
            model_key=price.model_key,
            token_type=price.token_type,
            price_per_million=price.price_per_million,
            currency=price.currency,
            valid_from=price.valid_from,
            recorded_at=clock.now(),
            recorded_by=actor.user,
        )
        for price in prices
    ]
    AiPrice.objects.bulk_create(
        rows,
        batch_size=1_000,
        update_conflicts=True,
        unique_fields=["account", "model_key", "token_type", "valid_from"],
        update_fields=["model", "price_per_million", "currency", "recorded_at", "recorded_by"],
    )
    if AiPrice.objects.count() > MAX_PRICES:
        raise UserError(f"An account has at most {MAX_PRICES:,} AI prices. Delete some.", field="file")
