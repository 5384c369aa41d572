"""Forms of the pages of cost tags, shared-cost splits and teams."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from accounts.models import Account
from finops.allocation.models import CostTag, SharedCostSplit, Team
from finops.allocation.rules import CostTagDraft, read_draft, write_draft
from finops.allocation.rules.yaml import MAX_BYTES
from finops.allocation.services.splits import SplitDraft
from finops.allocation.splits.rules import EVEN, FIXED, USAGE
from finops.costs.dimensions import registry
from finops.costs.views.choices import dimension_choices
from finops.lake import queries as lake_queries
from finops.lib.errors import INVALID_JSON
from ingestion.queries import metrics_of


class CostTagForm(forms.Form):
    """A cost tag as the editor submits it: `rules` is the JSON that cost-tag.js wrote."""

    key = forms.CharField(
        max_length=100,
        label="Key",
        help_text="Used as cost_tag:<key>. Cannot be changed later.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={"required": "Enter a key, such as team or environment."},
    )
    default_value = forms.CharField(
        max_length=255,
        required=False,
        label="Default value",
        help_text="For lines that match no rule.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    description = forms.CharField(max_length=500, required=False, label="Description")
    rules = forms.CharField(required=False, widget=forms.HiddenInput)
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    @classmethod
    def of(cls, draft: CostTagDraft, *, version: int | None = None) -> CostTagForm:
        """Return the form filled in from a saved or new cost tag, before any edit."""
        values = write_draft(draft)
        initial = {**values, "rules": json.dumps(values["rules"], ensure_ascii=False), "version": version}
        return cls(initial=initial)

    def keep_key(self, cost_tag: CostTag | None) -> CostTagForm:
        """Make the key of a saved cost tag read-only: answers and links use it."""
        if cost_tag is not None:
            self.fields["key"].disabled = True
            self.initial["key"] = cost_tag.key
        return self

    def draft(self) -> CostTagDraft:
        """Return the cost tag of a valid form. Raises RuleError."""
        fields: dict[str, Any] = {
            name: self.cleaned_data[name] for name in ("key", "description", "default_value")
        }
        return read_draft({**fields, "rules": self.cleaned_data["rules"]})

    def clean_rules(self) -> Any:
        """Return the rules as JSON values, not validated yet. Raises ValidationError for text that is not JSON."""
        try:
            return json.loads(self.cleaned_data["rules"] or "[]")
        except INVALID_JSON as error:
            raise ValidationError("The rules are unreadable. Reload the page and try again.") from error


class YamlForm(forms.Form):
    """A cost tag as a YAML file, uploaded or pasted."""

    file = forms.FileField(
        required=False,
        label="YAML file",
        widget=forms.ClearableFileInput(attrs={"accept": ".yaml,.yml,text/yaml,text/plain"}),
    )
    text = forms.CharField(
        required=False,
        label="Or paste it",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "false", "class": "font-monospace"}),
    )

    def clean_file(self) -> str:
        """Return the file's text; empty without a file. Raises ValidationError above MAX_BYTES and if not UTF-8."""
        file = self.cleaned_data["file"]
        if file is None:
            return ""
        if file.size > MAX_BYTES:
            raise ValidationError(f"The file has {file.size:,} bytes; the maximum is {MAX_BYTES:,}.")
        try:
            return str(file.read().decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise ValidationError("The file is not UTF-8 text.") from error

    def clean(self) -> dict[str, Any]:
        """Set `yaml` to the uploaded file, else to the pasted text. Raises ValidationError when both are empty."""
        data = super().clean() or {}
        data["yaml"] = data.get("file") or data.get("text") or ""
        if not data["yaml"].strip() and not self.errors:
            raise ValidationError("Choose a file, or paste the rules.")
        return data


METHODS = [
    (EVEN, "Even: equal shares"),
    ("proportional", "Proportional: by each target's daily cost"),
    (FIXED, "Fixed: by percentages"),
    (USAGE, "By usage: by a pushed usage metric"),
]
BLANK_ROWS = 2
SUGGESTED = {"autocomplete": "off", "data-suggest": "", "list": "split-values"}


class SplitForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        help_text="For example Shared cluster.",
        error_messages={"required": "Enter a name."},
    )
    dimension = forms.ChoiceField(
        help_text="Cost moves from one value to others.",
        error_messages={"required": "Choose a dimension."},
    )
    source_value = forms.CharField(
        max_length=255,
        label="Shared cost",
        help_text="Value with the shared cost, as in the bills. (untagged) is cost without a value.",
        widget=forms.TextInput(attrs=SUGGESTED),
        error_messages={"required": "Choose a value."},
    )
    method = forms.ChoiceField(label="Method", choices=METHODS, initial=EVEN)
    usage_metric = forms.ChoiceField(label="Usage metric", required=False)
    every_customer = forms.BooleanField(
        required=False,
        label="Among all customers with usage that day",
        help_text="Includes future customers. The dimension's values must be customer IDs.",
    )
    valid_from = forms.DateField(
        required=False,
        label="From",
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="Default: no start.",
    )
    valid_to = forms.DateField(
        required=False,
        label="To",
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="Last day. Default: no end.",
    )

    @classmethod
    def of(
        cls, account: Account, split: SharedCostSplit | None = None, params: QueryDict | None = None
    ) -> SplitForm:
        """Return the form of a split, with any values that a person has filled in so far. Three queries."""
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
        """Return the split of a valid form, including its rows."""
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
    """Add empty rows below the filled-in ones."""
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


class TeamForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        help_text="For example Payments.",
        error_messages={"required": "Enter a name."},
    )
    description = forms.CharField(
        max_length=500, required=False, help_text="Optional description or contact."
    )

    @classmethod
    def of(cls, team: Team) -> TeamForm:
        return cls(initial={"name": team.name, "description": team.description})


class TeamKeyForm(forms.Form):
    dimension = forms.ChoiceField(
        label="Team key",
        help_text=(
            "Teams own values of this dimension. Use a cost tag to combine spellings or several tags."
        ),
        error_messages={"required": "Choose a tag or dimension."},
    )

    @classmethod
    def of(cls, account: Account, key: str, data: Any = None) -> TeamKeyForm:
        """Return the form with the account's choices. Two queries."""
        kinds = [kind for kind in registry.kinds() if kind.name not in ("team", "product")]
        choices = dimension_choices(
            kinds, lake_queries.tag_keys(account), [] if key.startswith("cost_tag:") or not key else [key]
        )
        form = cls(data, initial={"dimension": key})
        field: Any = form.fields["dimension"]
        groups = [
            ("Cost tags", _cost_tags(account)),
            ("Tags", choices.tags),
            ("Dimensions", choices.plain),
            ("Bill", choices.of_bill),
        ]
        field.choices = [("", "Choose…"), *(group for group in groups if group[1])]
        return form


def _cost_tags(account: Account) -> list[tuple[str, str]]:
    keys = CostTag.objects.filter(account=account).values_list("key", flat=True)
    return [(f"cost_tag:{key}", key) for key in keys]
