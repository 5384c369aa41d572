"""The form of a budget. Its scope decides which fields it has, its period which single periods can have an amount."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from django import forms
from django.forms import BoundField

from accounts.models import Account
from finops.allocation.models import CostTag, Team
from finops.budgets.cycles import MONTHS, period_of, shift_period
from finops.budgets.models import Budget
from finops.budgets.scopes import ScopeDraft
from finops.budgets.services import BudgetDraft
from finops.costs.models import CostSource
from finops.lib import clock
from finops.lib.params import id_of

PERIOD_CHOICES = {"monthly": 12, "quarterly": 8, "yearly": 3}
AMOUNT = "amount_"

_SCOPE_FIELDS = {
    "account": (),
    "cost_source": ("cost_source",),
    "team": ("team",),
    "cost_tag": ("cost_tag", "cost_tag_value"),
}


class BudgetForm(forms.Form):
    """The form of a budget. Fields of other scopes are left out. `amount_<first day>` is the amount of one period."""

    name = forms.CharField(max_length=100, error_messages={"required": "Enter a name."})
    scope = forms.ChoiceField(label="Budget for", choices=Budget.Scope.choices)
    cost_source = forms.ChoiceField(label="Cost source", error_messages={"required": "Choose a cost source."})
    team = forms.ChoiceField(label="Team", error_messages={"required": "Choose a team."})
    cost_tag = forms.ChoiceField(label="Cost tag", error_messages={"required": "Choose a cost tag."})
    cost_tag_value = forms.CharField(
        label="Value",
        max_length=255,
        widget=forms.TextInput(attrs={"list": "cost-tag-values", "autocomplete": "off"}),
        help_text="Not case-sensitive. (untagged) is cost that matches no rule.",
        error_messages={"required": "Enter a value of the cost tag."},
    )
    period = forms.ChoiceField(choices=Budget.Period.choices)
    currency = forms.CharField(
        max_length=3,
        widget=forms.TextInput(attrs={"list": "currencies", "autocomplete": "off", "placeholder": "USD"}),
        help_text="Cost in other currencies is listed but not counted.",
        error_messages={"required": "Enter a currency, such as USD."},
    )
    amount = forms.DecimalField(
        max_digits=20,
        decimal_places=2,
        min_value=Decimal("0.01"),
        error_messages={
            "required": "Enter an amount.",
            "min_value": "The amount must be more than 0.",
        },
    )
    warning_percent = forms.IntegerField(
        label="Warning threshold (% of amount)",
        min_value=1,
        max_value=100,
        help_text="Also warns when the forecast reaches the amount.",
        error_messages={"required": "Enter a percentage from 1 to 100."},
    )

    def __init__(self, account: Account, *args: Any, budget: Budget | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.account, self.budget = account, budget
        for scope, names in _SCOPE_FIELDS.items():
            if scope != self.current_value("scope", "account"):
                for name in names:
                    del self.fields[name]
        self._set_choices()
        self.period_starts = self._period_starts()
        for day in self.period_starts:
            self.fields[f"{AMOUNT}{day}"] = forms.DecimalField(
                required=False,
                max_digits=20,
                decimal_places=2,
                min_value=Decimal("0.01"),
                label=self.period_name(day),
                error_messages={"min_value": "Enter more than 0, or leave empty."},
            )

    def current_value(self, name: str, default: str = "") -> str:
        """Return the value of a field before validation."""
        value = self.data.get(name) if self.is_bound else self.initial.get(name)
        return str(value) if value not in (None, "") else default

    def _set_choices(self) -> None:
        rows: dict[str, tuple[Any, str]] = {
            "cost_source": (CostSource, "name"),
            "team": (Team, "name"),
            "cost_tag": (CostTag, "key"),
        }
        for name, (model, column) in rows.items():
            field: Any = self.fields.get(name)
            if field is not None:
                choices = [(str(pk), text) for pk, text in model.objects.values_list("pk", column)]
                field.choices = [("", "Choose…"), *choices]

    def _period_starts(self) -> list[date]:
        """Return the starts of the current and coming periods, and of every period with its own amount."""
        kind = self.current_value("period", "monthly")
        if kind not in MONTHS:
            return []
        now = period_of(kind, clock.today(), self.account.fiscal_start_month)
        ahead = {shift_period(kind, now, count).start for count in range(PERIOD_CHOICES[kind])}
        same_kind = self.budget is not None and self.budget.period == kind
        stored_starts = (
            {each.starts_on for each in self.budget.amounts.all()} if self.budget and same_kind else set()
        )
        fits = {
            day for day in stored_starts if period_of(kind, day, self.account.fiscal_start_month).start == day
        }
        return sorted(ahead | fits)

    def period_name(self, day: date) -> str:
        kind = self.current_value("period", "monthly")
        if kind == "monthly":
            return f"{day:%b %Y}"
        return f"From {day:%b %Y}"

    @property
    def scope_fields(self) -> list[BoundField]:
        return [
            self[name]
            for name in _SCOPE_FIELDS.get(self.current_value("scope", "account"), ())
            if name in self.fields
        ]

    @property
    def period_fields(self) -> list[BoundField]:
        return [self[f"{AMOUNT}{day}"] for day in self.period_starts]

    @property
    def has_own_amounts(self) -> bool:
        return any(self.current_value(f"{AMOUNT}{day}") for day in self.period_starts)

    def draft(self) -> BudgetDraft:
        """Return the budget of a valid form."""
        cleaned = self.cleaned_data
        return BudgetDraft(
            name=cleaned["name"],
            amount=cleaned["amount"],
            currency=cleaned["currency"],
            period=cleaned["period"],
            warning_percent=cleaned["warning_percent"],
            scope=ScopeDraft(
                scope=cleaned["scope"],
                cost_source=_id(cleaned.get("cost_source")),
                team=_id(cleaned.get("team")),
                cost_tag=_id(cleaned.get("cost_tag")),
                cost_tag_value=cleaned.get("cost_tag_value", ""),
            ),
            amounts={
                day: cleaned[f"{AMOUNT}{day}"]
                for day in self.period_starts
                if cleaned.get(f"{AMOUNT}{day}") is not None
            },
        )

    def unsaved_row(self) -> Budget:
        """Return an unsaved budget with the form's scope and period so far, to read its cost; the whole account while
        no scope is chosen."""
        budget = Budget(account=self.account, period=self.current_value("period", "monthly"))
        row = self._scope_row()
        if row is not None:
            budget.scope = self.current_value("scope")
            setattr(budget, budget.scope, row)
            budget.cost_tag_value = self.current_value("cost_tag_value") if budget.scope == "cost_tag" else ""
        return budget

    def _scope_row(self) -> Any:
        models: Mapping[str, Any] = {"cost_source": CostSource, "team": Team, "cost_tag": CostTag}
        scope = self.current_value("scope", "account")
        row_id = id_of(self.current_value(scope)) if scope in models else None
        return models[scope].objects.filter(pk=row_id).first() if row_id else None


def _id(text: str | None) -> int | None:
    return int(text) if text else None


def initial_of(budget: Budget) -> dict[str, Any]:
    """Return the initial values of the form of a saved budget."""
    fields: dict[str, Any] = {
        "name": budget.name,
        "scope": budget.scope,
        "cost_source": budget.cost_source_id,
        "team": budget.team_id,
        "cost_tag": budget.cost_tag_id,
        "cost_tag_value": budget.cost_tag_value,
        "period": budget.period,
        "currency": budget.currency,
        "amount": budget.amount,
        "warning_percent": budget.warning_percent,
    }
    return fields | {f"{AMOUNT}{each.starts_on}": each.amount for each in budget.amounts.all()}
