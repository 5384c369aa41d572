"""The form of a shared-cost split. Its targets are rows of `target` and `percent`, as many as there are."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict

from accounts.models import Account
from finops.allocation.models import CostTag, SharedCostSplit
from finops.allocation.services.splits import SplitDraft
from finops.allocation.splits.rules import EVEN, FIXED, USAGE
from finops.costs.dimensions import registry
from finops.costs.views.choices import dimension_choices
from finops.lake import queries as lake_queries
from ingestion.queries import metrics_of

METHODS = [
    (EVEN, "Even: the same for each"),
    ("proportional", "Proportional: by what each costs that day"),
    (FIXED, "Fixed: by percentages"),
    (USAGE, "By usage: by a metric that you push"),
]
BLANK_ROWS = 2
SUGGESTED = {"autocomplete": "off", "data-suggest": "", "list": "split-values"}


class SplitForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        help_text="As answers name it: Shared cluster.",
        error_messages={"required": "Give the split a name."},
    )
    dimension = forms.ChoiceField(
        help_text="Cost moves from one of its values to others.",
        error_messages={"required": "Choose the dimension whose values share the cost."},
    )
    source_value = forms.CharField(
        max_length=255,
        label="Shared cost",
        help_text="The value whose cost is shared out, as the cost has it; (untagged) is cost without one.",
        widget=forms.TextInput(attrs=SUGGESTED),
        error_messages={"required": "Choose the value whose cost is shared."},
    )
    method = forms.ChoiceField(label="Shared out", choices=METHODS, initial=EVEN)
    usage_metric = forms.ChoiceField(label="Usage metric", required=False)
    every_customer = forms.BooleanField(
        required=False,
        label="Among every customer that used it that day",
        help_text="Also those to come. The values of the dimension are then customer ids.",
    )
    valid_from = forms.DateField(
        required=False,
        label="From",
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="Empty: since ever.",
    )
    valid_to = forms.DateField(
        required=False,
        label="To",
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="Its last day. Empty: for good.",
    )

    @classmethod
    def of(
        cls, account: Account, split: SharedCostSplit | None = None, params: QueryDict | None = None
    ) -> SplitForm:
        """The form of a split, or as a person has filled it in so far. Three queries."""
        initial = {name: getattr(split, name) for name in cls.base_fields} if split else {}
        form = cls(params, initial=initial)
        current = params.get("dimension", "") if params else initial.get("dimension", "")
        form._choices("dimension", _dimensions(account, current))
        metrics = [(metric.name, str(metric)) for metric in metrics_of(account)]
        form._choices("usage_metric", [("", "Choose…"), *metrics])
        return form

    def _choices(self, name: str, choices: Any) -> None:
        field: Any = self.fields[name]
        field.choices = choices

    def draft(self, params: QueryDict) -> SplitDraft:
        """What a valid form says, its rows with it."""
        return draft_of(params, self.cleaned_data)


def draft_of(params: QueryDict, cleaned: dict[str, Any]) -> SplitDraft:
    return SplitDraft(
        name=cleaned.get("name", ""),
        dimension=cleaned.get("dimension", ""),
        source_value=cleaned.get("source_value", ""),
        method=cleaned.get("method", EVEN),
        targets=rows_of(params),
        every_customer=bool(cleaned.get("every_customer")),
        usage_metric=cleaned.get("usage_metric", ""),
        valid_from=cleaned.get("valid_from"),
        valid_to=cleaned.get("valid_to"),
    )


def rows_of(params: QueryDict) -> list[tuple[str, str]]:
    """The targets of the form with their percentages; rows without a target are left out."""
    values, percents = params.getlist("target"), params.getlist("percent")
    padded = [*percents, *[""] * len(values)]
    return [(value.strip(), percent) for value, percent in zip(values, padded, strict=False) if value.strip()]


def rows_of_split(split: SharedCostSplit) -> list[tuple[str, str]]:
    return [(target["value"], target["percent"] or "") for target in split.targets]


def with_blanks(rows: list[tuple[str, str]], more: int = 0) -> list[tuple[str, str]]:
    """Rows to fill in below those that are."""
    blank = max(more, BLANK_ROWS if len(rows) < BLANK_ROWS else 1)
    return [*rows, *[("", "")] * blank]


def _dimensions(account: Account, current: str) -> list[Any]:
    keys = CostTag.objects.filter(account=account).values_list("key", flat=True)
    cost_tags = [(f"cost_tag:{key}", key) for key in keys]
    cost_tag_names = [name for name, _title in cost_tags]
    choices = dimension_choices(
        registry.kinds(),
        lake_queries.tag_keys(account),
        [current] if current and current not in cost_tag_names else [],
    )
    groups = [
        ("Cost tags", cost_tags),
        ("Tags", choices.tags),
        ("Dimensions", choices.plain),
        ("Bill", choices.of_bill),
    ]
    return [("", "Choose…"), *(group for group in groups if group[1])]
