"""Forms of the cost pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.forms.models import model_to_dict

from accounts.models import Account
from finops.costs.completeness import MAX_SETTLE_DAYS
from finops.costs.focus.formats import DATES_SHOWN, NUMBERS_SHOWN, FormatChoice
from finops.costs.import_decision import month_of
from finops.costs.models import Basis, CostSource, CostView, ImportReviewSettings
from finops.costs.queries.cost_view import CHARGE_CATEGORIES
from finops.lib.registry import Registry

MAX_FILES = 50


class FilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class FilesField(forms.FileField):
    """A field for one or several uploaded files."""

    widget = FilesInput

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile[Any]]:
        """Return the files. Raises ValidationError for more than MAX_FILES, and for what a single file field refuses."""
        files = data if isinstance(data, list | tuple) else [data]
        if len(files) > MAX_FILES:
            raise ValidationError(f"Upload at most {MAX_FILES} files at once.")
        return [super(FilesField, self).clean(each, initial) for each in files or [None]]


class OverlapForm(forms.Form):
    """The overlap of two sources, as the page showed it."""

    source_id = forms.IntegerField(min_value=1)
    other_id = forms.IntegerField(min_value=1)
    currency = forms.CharField(max_length=60)
    months = forms.CharField(max_length=8 * 120)

    def clean_months(self) -> list[date]:
        """Return the first days of the months. Raises ValidationError for a month that is not written as 2026-09."""
        try:
            return [month_of(name) for name in self.cleaned_data["months"].split()]
        except ValueError as error:
            raise ValidationError("Use the format 2026-09.") from error


upload_cautions: Registry[Callable[[Account], Mapping[int, str]]] = Registry("upload caution")
"""By source of an account: why an upload into it may not work as expected, and what to do instead."""


class BillUploadForm(forms.Form):
    source = forms.ModelChoiceField(
        queryset=CostSource.objects.unscoped().none(),  # the form sets the queryset of its account
        required=False,
        empty_label="A new source",
        label="Cost source",
        help_text="Complete billing months in the files replace those of the source.",
    )
    name = forms.CharField(
        max_length=100,
        required=False,
        label="Name of the new source",
        help_text="For example: AWS payer account.",
    )
    uploads = FilesField(
        label="Cost files",
        help_text="FOCUS, an export of a cloud, or any columns: CSV, JSON lines (both also in gzip or ZIP) or Parquet. Upload the "
        "files of one export together.",
        error_messages={"required": "Choose at least one file.", "empty": "The file is empty."},
    )
    currency = forms.CharField(
        max_length=60,
        required=False,
        label="Billing currency",
        help_text="For files without BillingCurrency, for example USD.",
    )
    defaults = forms.CharField(
        required=False,
        label="Values for missing columns",
        widget=forms.Textarea(
            attrs={"rows": 3, "placeholder": "ProviderName=AWS\nInvoiceIssuerName=@ProviderName"}
        ),
        help_text="One Column=value per line. @Column copies another column.",
    )

    number_format = forms.ChoiceField(
        choices=[("", "Automatic"), *((format_.value, shown) for format_, shown in NUMBERS_SHOWN.items())],
        required=False,
        label="Number format",
        help_text="Automatic detects it per file and rejects ambiguous files (12,345).",
    )
    date_order = forms.ChoiceField(
        choices=[("", "Automatic"), *((order.value, shown) for order, shown in DATES_SHOWN.items())],
        required=False,
        label="Date order",
        help_text="For dates such as 05/09/2026. Automatic detects it per file.",
    )

    is_sure = forms.BooleanField(
        required=False,
        label="Upload anyway",
        help_text="For a source with syncs or pushes: the next one replaces the months it contains.",
    )

    def __init__(self, *args: Any, account: Account, sources: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cautions = {
            source_id: text for find in upload_cautions.values() for source_id, text in find(account).items()
        }
        field = self.fields["source"]
        assert isinstance(field, forms.ModelChoiceField)  # noqa: S101 for the type checker
        field.queryset = sources

    @property
    def needs_sure(self) -> bool:
        """Whether syncs fill the chosen source, so that the user must confirm the upload."""
        return str(self["source"].value() or "") in map(str, self.cautions)

    def clean_defaults(self) -> dict[str, str]:
        """Return values by column. Raises ValidationError for a line without an equals sign."""
        lines = [line.strip() for line in self.cleaned_data["defaults"].splitlines() if line.strip()]
        wrong = [line for line in lines if "=" not in line]
        if wrong:
            raise ValidationError(f"“{wrong[0]}”: use the format Column=value.")
        return {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in lines)}

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if not data.get("source") and not data.get("name", "").strip() and not self.errors.get("source"):
            self.add_error("name", "Enter a name, or choose an existing source.")
        source = data.get("source")
        if source is not None and source.pk in self.cautions and not data.get("is_sure"):
            self.add_error("source", self.cautions[source.pk])
        return data

    @property
    def formats(self) -> FormatChoice:
        return FormatChoice.of(self.cleaned_data["number_format"], self.cleaned_data["date_order"])

    @property
    def values_of_missing_columns(self) -> dict[str, str]:
        currency = self.cleaned_data["currency"].strip()
        defaults: dict[str, str] = self.cleaned_data["defaults"]
        return {"BillingCurrency": currency, **defaults} if currency else defaults


class SourceForm(forms.Form):
    name = forms.CharField(max_length=100, error_messages={"required": "Enter a name."})


class ImportReviewForm(forms.Form):
    fall_percent = forms.IntegerField(
        min_value=1,
        max_value=100,
        label="Decrease (%)",
        error_messages={"required": "Enter a percentage from 1 to 100."},
        help_text="Imports that reduce a billing month's cost by this share need review.",
    )
    growth_percent = forms.IntegerField(
        min_value=1,
        max_value=100_000,
        label="Increase (%)",
        error_messages={"required": "Enter a percentage from 1 to 100,000."},
        help_text=(
            "Imports that increase a billing month's cost by this share need review (cost per "
            "day if days are added)."
        ),
    )
    least_amount = forms.DecimalField(
        min_value=0,
        max_digits=20,
        decimal_places=2,
        label="Minimum change",
        error_messages={"required": "Enter an amount, such as 10."},
        help_text="Smaller changes need no review. In the bill's currency, for example 10.",
    )

    @classmethod
    def of(cls, row: ImportReviewSettings) -> ImportReviewForm:
        return cls(initial=model_to_dict(row, fields=cls.base_fields))


class SettleDaysForm(forms.Form):
    settle_days = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=MAX_SETTLE_DAYS,
        label="Days until a day is complete",
        help_text="Default: detected from imports, or as documented by the provider.",
    )


class CostViewForm(forms.Form):
    basis = forms.ChoiceField(
        choices=Basis.choices,
        widget=forms.RadioSelect,
        help_text=("Billed matches invoices. Amortized spreads prepaid commitments over the covered usage."),
    )
    planning_basis = forms.ChoiceField(
        choices=Basis.choices,
        required=False,
        label="Basis of unit cost, budgets and forecasts",
        help_text="With amortized, upfront payments do not distort a month. Can be changed per page.",
    )
    charge_categories = forms.MultipleChoiceField(
        choices=[(name, name) for name in CHARGE_CATEGORIES],
        widget=forms.CheckboxSelectMultiple,
        label="Charge categories",
        help_text="With all categories, totals equal the invoices. Excluded amounts are always shown.",
        error_messages={"required": "Choose at least one charge category."},
    )
    product_key = forms.CharField(
        max_length=256,
        required=False,
        label="Product key",
        help_text=(
            "Tag key of your product, such as app, or a cost tag: cost_tag:app. Default: the service."
        ),
    )
    actor_tag_keys = forms.CharField(
        required=False,
        label="Creator tags",
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=(
            "One per line; the first one present is used. Applies to new imports. Default: "
            "common creator tags."
        ),
    )

    def clean_actor_tag_keys(self) -> list[str]:
        return [line.strip() for line in self.cleaned_data["actor_tag_keys"].splitlines() if line.strip()]

    @classmethod
    def of(cls, view: CostView) -> CostViewForm:
        initial = model_to_dict(view, fields=cls.base_fields)
        categories = view.charge_categories or list(CHARGE_CATEGORIES)
        keys = "\n".join(view.actor_tag_keys)
        return cls(initial=initial | {"charge_categories": categories, "actor_tag_keys": keys})


class InvoiceTotalForm(forms.Form):
    amount = forms.DecimalField(
        max_digits=33,
        decimal_places=18,
        label="Invoice total",
        error_messages={"required": "Enter an amount, such as 1234.56."},
        help_text="In the invoice's currency, for example 1234.56.",
    )
    note = forms.CharField(max_length=1000, required=False, label="Note", help_text="Source of the amount.")
