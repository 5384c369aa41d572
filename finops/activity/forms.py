from __future__ import annotations

from django import forms

from finops.activity.models import FEWEST_DAYS, MOST_DAYS

_BOUNDS = f"Keep activity for {FEWEST_DAYS} to {MOST_DAYS} days."


class RetentionForm(forms.Form):
    days = forms.IntegerField(
        label="Days to keep",
        min_value=FEWEST_DAYS,
        max_value=MOST_DAYS,
        help_text=f"{FEWEST_DAYS} to {MOST_DAYS} days before today. Older calls are deleted within the hour, for good.",
        error_messages={
            "required": _BOUNDS,
            "invalid": "Give a whole number of days.",
            "min_value": _BOUNDS,
            "max_value": _BOUNDS,
        },
    )
