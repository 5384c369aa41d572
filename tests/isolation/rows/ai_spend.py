"""Rows of AI prices."""

from __future__ import annotations

from datetime import date, timedelta

from accounts.models import Account
from accounts.scoping import account_scope
from finops.ai_spend.models import AiPrice


def ai_price(account: Account) -> int:
    with account_scope(account):
        newest = AiPrice.objects.order_by("-valid_from").first()
        day = newest.valid_from + timedelta(days=1) if newest else date(2026, 1, 1)
        return AiPrice.objects.create(
            model="gpt-5",
            model_key="gpt-5",
            token_type="input",
            price_per_million=1,
            currency="USD",
            valid_from=day,
        ).pk
