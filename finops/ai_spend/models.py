"""An account's own token prices."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.scoping import AccountModel
from finops.ai_spend.naming import ALL_TOKEN_TYPES
from finops.lib import clock

PRICE_DIGITS: Final = 20
PRICE_PLACES: Final = 9
MAX_MODEL: Final = 200


class AiPrice(AccountModel):
    """A negotiated price of a million tokens of a model from a day on, until the next price of the same model and
    token type. It takes precedence over the price list."""

    model = models.CharField(max_length=MAX_MODEL)
    model_key = models.CharField(
        max_length=MAX_MODEL, editable=False, help_text="Normalized model name for price lookups."
    )
    token_type = models.CharField(max_length=30, choices=[(name, name) for name in ALL_TOKEN_TYPES])
    price_per_million = models.DecimalField(max_digits=PRICE_DIGITS, decimal_places=PRICE_PLACES)
    currency = models.CharField(max_length=3)
    valid_from = models.DateField()
    recorded_at = models.DateTimeField(default=clock.now)
    recorded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        verbose_name = "AI price"
        ordering = ["model_key", "token_type", "-valid_from"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "model_key", "token_type", "valid_from"],
                name="ai_price_unique",
                violation_error_message="The model has a price of this token type from that day already.",
            ),
            models.CheckConstraint(
                condition=Q(price_per_million__gte=0),
                name="ai_price_not_negative",
                violation_error_message="A price is not negative.",
            ),
        ]

    def __str__(self) -> str:
        price = f"{self.price_per_million.normalize():f} {self.currency}"
        return f"{self.model} {self.token_type}: {price} from {self.valid_from}"
