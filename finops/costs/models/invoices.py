"""Invoiced amounts from providers' files, and totals that a member entered. The cost lines are in the lake."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from accounts.scoping import AccountModel
from finops.lib import clock
from finops.lib.constraints import not_empty


class InvoiceDetail(AccountModel):
    """A row of a FOCUS Invoice Detail file: an amount of an invoice in its billing currency.

    A source's rows of an issuer, invoice and billing period are replaced as a whole.
    """

    source = models.ForeignKey("costs.CostSource", on_delete=models.CASCADE, related_name="invoice_details")
    issuer = models.CharField(max_length=500)
    invoice_id = models.CharField(max_length=500)
    billing_period = models.DateField(help_text="The first day of the period.")
    period_start = models.DateTimeField()
    period_end = models.DateTimeField(null=True, blank=True)
    detail_id = models.CharField(max_length=500, blank=True)
    billing_account_id = models.CharField(max_length=500, blank=True)
    currency = models.CharField(max_length=60)
    billed_cost = models.DecimalField(max_digits=38, decimal_places=18)
    charge_category = models.CharField(max_length=500, blank=True)
    description = models.TextField(blank=True)
    grain = models.TextField(blank=True, help_text="InvoiceDetailGrain as in the file.")
    status = models.CharField(max_length=500, blank=True, help_text="Open, Issued or Voided.")
    issued_at = models.DateTimeField(null=True, blank=True)
    due_at = models.DateTimeField(null=True, blank=True)
    payment_terms = models.CharField(max_length=500, blank=True)
    purchase_order = models.CharField(max_length=500, blank=True)
    reference_invoice_id = models.CharField(max_length=500, blank=True)
    payment_currency = models.CharField(max_length=60, blank=True)
    payment_cost = models.DecimalField(max_digits=38, decimal_places=18, null=True, blank=True)

    class Meta:
        ordering = ["-billing_period", "issuer", "invoice_id", "detail_id", "id"]
        indexes = [
            models.Index(fields=["account", "billing_period"], name="invoice_detail_by_period"),
            models.Index(fields=["source", "billing_period"], name="invoice_detail_of_source"),
        ]

    def __str__(self) -> str:
        return f"{self.issuer} {self.invoice_id}: {self.billed_cost} {self.currency}"


class BillingPeriod(AccountModel):
    """A row of a FOCUS Billing Period file: whether an issuer says that the period is open or closed."""

    source = models.ForeignKey("costs.CostSource", on_delete=models.CASCADE, related_name="billing_periods")
    issuer = models.CharField(max_length=500)
    billing_period = models.DateField(help_text="The first day of the period.")
    period_start = models.DateTimeField()
    period_end = models.DateTimeField(null=True, blank=True)
    status = models.CharField(max_length=500, help_text="Open or Closed.")
    created_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-billing_period", "issuer"]
        constraints = [
            models.UniqueConstraint(
                fields=["source", "issuer", "billing_period"], name="billing_period_unique"
            )
        ]
        indexes = [models.Index(fields=["account", "billing_period"], name="billing_period_of_account")]

    def __str__(self) -> str:
        return f"{self.issuer} {self.billing_period:%Y-%m}: {self.status}"


class InvoiceTotal(AccountModel):
    """The total of an invoice, entered by hand if its provider has no Invoice Detail.

    Without an invoice id, the total for all lines of the billing period without an invoice.
    """

    issuer = models.CharField(max_length=500, blank=True)
    invoice_id = models.CharField(max_length=500, blank=True)
    billing_period = models.DateField(help_text="The first day of the period.")
    billing_account_id = models.CharField(max_length=500, blank=True)
    currency = models.CharField(max_length=3)
    amount = models.DecimalField(max_digits=38, decimal_places=18)
    note = models.CharField(max_length=1000, blank=True)
    entered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    entered_at = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ["-billing_period", "issuer", "invoice_id"]
        constraints = [
            models.UniqueConstraint(
                fields=[
                    *("account", "issuer", "invoice_id", "billing_period"),
                    *("billing_account_id", "currency"),
                ],
                name="invoice_total_unique",
                violation_error_message="A total of this invoice is already entered.",
            ),
            not_empty("currency", name="invoice_total_has_a_currency"),
        ]

    def __str__(self) -> str:
        return f"{self.issuer} {self.invoice_id}: {self.amount} {self.currency}"
