"""The form of a column mapping: one row for each relevant FOCUS column, with a choice of the file's columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.forms import BoundField
from django.http import QueryDict

from finops.costs.focus import columns as spec
from finops.costs.focus.formats import NUMBERS_SHOWN
from finops.costs.focus.values import NumberFormat
from finops.costs.mapping.date_format import DATE_FORMATS
from finops.costs.mapping.document import (
    BILLED_COST,
    MAX_ADDENDS,
    MAX_VALUES,
    NEEDED_TEXTS,
    Addend,
    AmountRule,
    DateRule,
    Granularity,
    MappingDocument,
    TagRule,
    TextRule,
    problems,
)
from finops.costs.mapping.document_mapping import CHARGE_CATEGORY, missing_columns
from finops.costs.mapping.sample import Sample
from finops.costs.mapping.suggestion import date_format, decimal_mark
from finops.lib.sentences import quote, truncate

MAX_NAME: Final = 256
SHOWN_TAG_COLUMNS: Final = 200
SHOWN_ADDENDS: Final = 3
ADDEND_SIGNS: Final = (("", "Plus"), ("minus", "Minus"))
COSTS_SIGNS: Final = (("", "Positive"), ("negative", "Negative"))
GRANULARITIES: Final = (
    (Granularity.DAY.value, "A day"),
    (Granularity.HOUR.value, "An hour"),
    (Granularity.MONTH.value, "A month"),
)

NEEDED: Final[dict[str, str]] = {
    spec.CHARGE_PERIOD: "Date",
    BILLED_COST: "Cost",
    "BillingCurrency": "Currency",
    "ServiceName": "Service",
    "ProviderName": "Provider",
    "ChargeCategory": "Charge category",
}
OPTIONAL: Final[dict[str, str]] = {
    "SubAccountId": "Account",
    "SubAccountName": "Account name",
    "RegionId": "Region",
    "ResourceId": "Resource",
    "ResourceName": "Resource name",
    "ChargeDescription": "Description",
    "SkuId": "SKU",
    "ConsumedQuantity": "Quantity",
    "ConsumedUnit": "Unit",
    "EffectiveCost": "Amortized cost",
    "ListCost": "List cost",
    "ServiceCategory": "Service category",
    "InvoiceId": "Invoice",
    "BillingAccountId": "Billing account",
    "ChargePeriodEnd": "End date",
    spec.BILLING_PERIOD: "Billing month",
}
SHOWN: Final = {**NEEDED, **OPTIONAL}
"""FOCUS columns on the page, with their titles."""


class OpenSelect(forms.Select):
    """A select that keeps a value outside its choices as an additional choice."""

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        self.attrs.pop("maxlength", None)  # set by CharField, invalid for a select
        return super().get_context(name, value, attrs)

    def optgroups(self, name: str, value: Any, attrs: Any = None) -> Any:
        offered = {str(each) for each, _ in self.choices}
        more = [
            (each, f"{truncate(each, 80)} (not offered)") for each in value if each and each not in offered
        ]
        self.choices = [*self.choices, *more]
        return super().optgroups(name, value, attrs)


@dataclass(frozen=True)
class MappingRow:
    """A FOCUS column in the form: its title, the choice of a file column, and further fields."""

    focus: str
    title: str
    column: BoundField
    options: Sequence[BoundField]
    addends: Sequence[tuple[BoundField, BoundField]] = ()
    """For an amount: sign and choice of each further column."""

    @property
    def has_addends(self) -> bool:
        return any(column.value() or column.errors for _, column in self.addends)


@dataclass(frozen=True)
class TagField:
    """A column that may be a tag: its name, how it is shown, and the entered key."""

    column: str
    label: str
    key: str
    index: int


@dataclass(frozen=True)
class CategoryField:
    """A charge category of the file and the FOCUS category chosen for it; empty before a choice."""

    value: str
    focus: str
    index: int


class MappingForm(forms.Form):
    """The mapping form. Its choices are the columns of the sample; a mapping may name columns that the file does not have."""

    decimal_mark = forms.ChoiceField(
        label="Numbers",
        choices=[("", "Detect"), *((each.value, text) for each, text in NUMBERS_SHOWN.items())],
        required=False,
    )
    costs_sign = forms.ChoiceField(label="Costs are", choices=COSTS_SIGNS, required=False)
    granularity = forms.ChoiceField(label="A line covers", choices=GRANULARITIES)
    time_zone = forms.CharField(label="Time zone", max_length=64, initial="UTC")
    skip_without_date = forms.BooleanField(
        label="Leave out lines without a date", required=False, help_text="For rows of totals."
    )

    def __init__(
        self, sample: Sample | None, document: MappingDocument, data: QueryDict | None = None
    ) -> None:
        super().__init__(data, initial=_initial(document))
        self._sample, self._document = sample, document
        self._names = sample.names if sample else document.columns
        choices = [("", "None"), *self._choices()]
        for focus, title in SHOWN.items():
            self._add_row(focus, title, choices)

    def _choices(self) -> Iterator[tuple[str, str]]:
        if self._sample is None:
            yield from ((name, name) for name in self._names)
            return
        for column in self._sample.columns:
            if column.name.strip() and len(column.name) <= MAX_NAME:
                yield column.name, column.label

    def _add_row(self, focus: str, title: str, choices: list[tuple[str, str]]) -> None:
        self.fields[f"{focus}-column"] = forms.CharField(
            required=False,
            max_length=MAX_NAME,
            label=f"Column of {title.lower()}",
            widget=OpenSelect(choices=choices),
        )
        if focus in spec.AMOUNTS.values():
            self._add_addends(focus, title, choices)
            self.fields[f"{focus}-factor"] = forms.DecimalField(
                required=False,
                label=f"Factor of {title.lower()}",
                widget=forms.TextInput(attrs={"inputmode": "decimal", "placeholder": "Factor, as 0.01"}),
            )
        elif focus in spec.TIMES.values():
            self.fields[f"{focus}-format"] = forms.CharField(
                required=False,
                max_length=64,
                label=f"Format of {title.lower()}",
                widget=OpenSelect(choices=[("", "Detect the format"), *DATE_FORMATS.items()]),
            )
        else:
            values = spec.ENUMERATIONS.get(focus)
            widget = (
                forms.Select(choices=[("", "None"), *((each, each) for each in values)]) if values else None
            )
            self.fields[f"{focus}-value"] = forms.CharField(
                required=False,
                max_length=MAX_NAME,
                label=f"Value of {title.lower()}",
                widget=widget or forms.TextInput(attrs={"placeholder": "Value"}),
            )

    def _add_addends(self, focus: str, title: str, choices: list[tuple[str, str]]) -> None:
        rule = self._document.amounts.get(focus)
        count = max(SHOWN_ADDENDS, len(rule.addends) + 1 if rule else 0)
        while f"{focus}-addend-{count}" in self.data:
            count += 1
        for place in range(min(count, MAX_ADDENDS)):
            self.fields[f"{focus}-sign-{place}"] = forms.ChoiceField(
                required=False, label=f"Sign of column {place + 2} of {title.lower()}", choices=ADDEND_SIGNS
            )
            self.fields[f"{focus}-addend-{place}"] = forms.CharField(
                required=False,
                max_length=MAX_NAME,
                label=f"Column {place + 2} of {title.lower()}",
                widget=OpenSelect(choices=choices),
            )

    @property
    def needed_rows(self) -> list[MappingRow]:
        return [self._row(focus) for focus in NEEDED]

    @property
    def optional_rows(self) -> list[MappingRow]:
        """Optional rows that the document uses, and those with an error."""
        return [self._row(focus) for focus in OPTIONAL if self._is_in_use(focus)]

    @property
    def more_rows(self) -> list[MappingRow]:
        return [self._row(focus) for focus in OPTIONAL if not self._is_in_use(focus)]

    def _is_in_use(self, focus: str) -> bool:
        names = (f"{focus}-column", f"{focus}-value")
        return any(name in self.fields and (self[name].value() or self[name].errors) for name in names)

    def _row(self, focus: str) -> MappingRow:
        parameters = [
            self[name]
            for name in self.fields
            if name in {f"{focus}-{each}" for each in ("value", "factor", "format")}
        ]
        addends = [
            (self[name.replace("-addend-", "-sign-")], self[name])
            for name in self.fields
            if name.startswith(f"{focus}-addend-")
        ]
        return MappingRow(focus, SHOWN[focus], self[f"{focus}-column"], parameters, addends)

    def category_fields(self, unknown: Iterable[str] = ()) -> list[CategoryField]:
        """A field for each charge category that is not one of FOCUS: in the sample, in `unknown`, and mapped ones."""
        column, mapped = self[f"{CHARGE_CATEGORY}-column"].value(), self._category_values()
        columns = self._sample.columns if self._sample else ()
        of_sample = [value for each in columns if each.name == column for value in each.values]
        focus_categories = {spec.fold(each) for each in spec.ENUMERATIONS[CHARGE_CATEGORY]}
        foreign = [
            value.strip() for value in (*of_sample, *unknown) if spec.fold(value) not in focus_categories
        ]
        shown = self.data.getlist("category_value") if isinstance(self.data, QueryDict) else []
        # In the order of the page, so that fields do not move while a person chooses.
        in_page_order = [value for value in shown if value in mapped or value in foreign]
        values = list(dict.fromkeys([*in_page_order, *mapped, *foreign]))[:MAX_VALUES] if column else []
        return [CategoryField(value, mapped.get(value, ""), index) for index, value in enumerate(values)]

    @property
    def focus_categories(self) -> tuple[str, ...]:
        return spec.ENUMERATIONS[CHARGE_CATEGORY]

    def _category_values(self) -> dict[str, str]:
        """The FOCUS charge category by the file's."""
        if not isinstance(self.data, QueryDict):
            rule = self._document.texts.get(CHARGE_CATEGORY, TextRule())
            return dict(rule.values)
        pairs = zip(self.data.getlist("category_value"), self.data.getlist("category"), strict=False)
        return {value[:MAX_NAME]: focus[:MAX_NAME] for value, focus in pairs if value.strip() and focus}

    @property
    def tag_fields(self) -> list[TagField]:
        """A field for each column of the file, with its tag key, if any."""
        keys = {rule.column: rule.key for rule in self._tag_rules()}
        labels = {column.name: column.label for column in self._sample.columns} if self._sample else {}
        names = list(dict.fromkeys([*keys, *(name for name in self._names if name.strip())]))
        return [
            TagField(name, labels.get(name, name), keys.get(name, ""), index)
            for index, name in enumerate(names[:SHOWN_TAG_COLUMNS])
        ]

    @property
    def tag_count(self) -> int:
        return len(self._tag_rules())

    def _tag_rules(self) -> tuple[TagRule, ...]:
        if not isinstance(self.data, QueryDict):
            return self._document.tags
        pairs = zip(self.data.getlist("tag_column"), self.data.getlist("tag_key"), strict=False)
        return tuple(
            TagRule(column[:MAX_NAME], key.strip()[:MAX_NAME]) for column, key in pairs if key.strip()
        )

    def clean(self) -> None:
        """Show each error of the document at its field."""
        if self.errors:
            return
        document = self.document()
        for problem in problems(document):
            name = f"{problem.field}-column" if f"{problem.field}-column" in self.fields else problem.field
            self.add_error(name if name in self.fields else None, problem.text)
        for column in missing_columns(document, self._names) if self._sample else ():
            self._refuse_missing(column)

    def _refuse_missing(self, column: str) -> None:
        text = f"{self._sample.file if self._sample else 'The file'} has no column {quote(column)}. Choose another."
        fields = [
            name
            for name in self.fields
            if ("-column" in name or "-addend-" in name) and self.cleaned_data.get(name) == column
        ]
        for name in fields or ["tags"]:
            self.add_error(name if name in self.fields else None, ValidationError(text))

    def document(self) -> MappingDocument:
        """The mapping entered in the form. Parts without a field on the page stay unchanged."""
        data, before = self.cleaned_data, self._document
        amounts = {name: rule for name, rule in before.amounts.items() if name not in SHOWN}
        texts = {name: rule for name, rule in before.texts.items() if name not in SHOWN}
        dates = {name: rule for name, rule in before.dates.items() if name not in SHOWN}
        for focus in SHOWN:
            column = data.get(f"{focus}-column") or ""
            if f"{focus}-value" in self.fields:
                value = data.get(f"{focus}-value") or ""
                if column or value or focus in NEEDED_TEXTS:
                    values = self._category_values() if focus == CHARGE_CATEGORY and column else {}
                    texts[focus] = TextRule(column, value, values)
            elif column and f"{focus}-factor" in self.fields:
                factor = data.get(f"{focus}-factor")
                amounts[focus] = AmountRule(
                    column, Decimal(1) if factor is None else factor, self._addends(focus)
                )
            elif column:
                dates[focus] = DateRule(column, data.get(f"{focus}-format") or self._detect_format(column))
        return MappingDocument(
            amounts=amounts,
            texts=texts,
            dates=dates,
            tags=self._tag_rules(),
            decimal_mark=NumberFormat(data["decimal_mark"])
            if data.get("decimal_mark")
            else self._detect_mark(),
            costs_are_negative=data["costs_sign"] == "negative",
            granularity=Granularity(data["granularity"]),
            time_zone=data["time_zone"],
            skip_without_date=data["skip_without_date"],
        )

    def _addends(self, focus: str) -> tuple[Addend, ...]:
        places = [name.rpartition("-")[2] for name in self.fields if name.startswith(f"{focus}-addend-")]
        rows = [
            (self.cleaned_data.get(f"{focus}-addend-{place}"), self.cleaned_data.get(f"{focus}-sign-{place}"))
            for place in places
        ]
        return tuple(Addend(column, sign == "minus") for column, sign in rows if column)

    def _detect_mark(self) -> NumberFormat | None:
        """The decimal mark of the sample's numbers; None if they are ambiguous."""
        return decimal_mark(self._sample.columns) if self._sample else self._document.decimal_mark

    def _detect_format(self, name: str) -> str:
        """The date format of a column of the sample; empty if its dates are ambiguous."""
        columns = self._sample.columns if self._sample else ()
        return next((date_format(column) for column in columns if column.name == name), "")

    @property
    def problem_texts(self) -> list[str]:
        """The errors as sentences that name their FOCUS column."""
        return [
            f"{SHOWN[name.partition('-')[0]]}: {text}" if name.partition("-")[0] in SHOWN else str(text)
            for name, texts in self.errors.items()
            for text in texts
        ]


def _initial(document: MappingDocument) -> dict[str, Any]:
    initial: dict[str, Any] = {
        "decimal_mark": document.decimal_mark.value if document.decimal_mark else "",
        "costs_sign": "negative" if document.costs_are_negative else "",
        "granularity": document.granularity.value,
        "time_zone": document.time_zone,
        "skip_without_date": document.skip_without_date,
    }
    for focus, amount in document.amounts.items():
        initial |= {f"{focus}-column": amount.column, f"{focus}-factor": _factor_text(amount.factor)}
        for place, addend in enumerate(amount.addends):
            initial[f"{focus}-addend-{place}"] = addend.column
            initial[f"{focus}-sign-{place}"] = "minus" if addend.is_subtracted else ""
    for focus, text in document.texts.items():
        initial |= {f"{focus}-column": text.column, f"{focus}-value": text.value}
    for focus, rule in document.dates.items():
        initial |= {f"{focus}-column": rule.column, f"{focus}-format": rule.format}
    return initial


def _factor_text(factor: Decimal) -> str:
    return "" if factor == 1 else f"{factor.normalize():f}"
