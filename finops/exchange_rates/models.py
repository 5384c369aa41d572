"""Exchange rates of an account, by day and pair of currencies."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from accounts.scoping import AccountModel
from finops.lake.engine.conversion import RATE_DIGITS, RATE_LIMIT, RATE_SCALE
from finops.lib import clock


class ExchangeRate(AccountModel):
    """One unit of `base` is `rate` units of `quote` on a day, according to a source."""

    class Source(models.TextChoices):
        """Sources in order of priority: the first that has a pair on a day counts."""

        ENTERED = "entered", "Entered"
        UPLOADED = "uploaded", "Uploaded"
        BILL = "bill", "Bill"
        ECB = "ecb", "European Central Bank"

    day = models.DateField()
    base = models.CharField(max_length=3)
    quote = models.CharField(max_length=3)
    rate = models.DecimalField(max_digits=RATE_DIGITS, decimal_places=RATE_SCALE)
    source = models.CharField(max_length=10, choices=Source.choices)
    recorded_at = models.DateTimeField(default=clock.now)
    recorded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ["-day", "base", "quote", "source"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "day", "base", "quote", "source"],
                name="exchange_rate_unique",
                violation_error_message="The day has a rate of this pair already.",
            ),
            models.CheckConstraint(
                condition=Q(rate__gt=0, rate__lt=RATE_LIMIT),
                name="exchange_rate_in_range",
                violation_error_message=f"A rate is more than 0 and less than {RATE_LIMIT:,}.",
            ),
            models.CheckConstraint(
                condition=~Q(base=F("quote")),
                name="exchange_rate_of_two_currencies",
                violation_error_message="A rate is between two different currencies.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.day}: 1 {self.base} = {self.rate.normalize():f} {self.quote}"


class ExchangeRateTable(AccountModel):
    """The state of the account's rates: the number of their changes, and the result of the last fetch."""

    account = models.OneToOneField("accounts.Account", on_delete=models.CASCADE, related_name="+")
    version = models.PositiveBigIntegerField(
        default=0, help_text="Number of changes; cached rates expire when it changes."
    )
    fetched_at = models.DateTimeField(null=True, blank=True)
    fetch_error = models.CharField(max_length=500, blank=True)

    def __str__(self) -> str:
        return f"Exchange rates of account {self.account_id}, version {self.version}"
