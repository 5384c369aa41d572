"""The form of a data export: its name, a field for each value of its destination's config, the schedule and the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from finops.connections.forms import ConfigForm
from finops.connections.services.credentials import secret_names
from finops.data_exports.columns import ACTOR, COST_SOURCE, MANDATORY, PROVIDER_COLUMNS, TEAM, focus_columns
from finops.data_exports.destination import Destination
from finops.data_exports.models import NAME_PATTERN, DataExport


class DataExportForm(ConfigForm):
    """The form of a new or existing export."""

    name = forms.RegexField(
        NAME_PATTERN,
        max_length=60,
        help_text="Folder of the export. Letters, digits, dots, underscores and dashes.",
        error_messages={"required": "Enter a name.", "invalid": "Invalid format. For example: focus"},
    )
    schedule = forms.ChoiceField(
        choices=DataExport.Schedule.choices, help_text="Unchanged months are not written again."
    )
    console_columns = forms.MultipleChoiceField(
        label="Columns of this console", required=False, widget=forms.CheckboxSelectMultiple
    )
    with_splits = forms.BooleanField(
        label="Shared-cost splits", required=False, help_text="Separate files in addition to the cost files."
    )
    focus_columns = forms.MultipleChoiceField(
        label="Included columns", required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(
        self,
        destination: Destination[Any],
        cost_tags: dict[str, str],
        *args: Any,
        export: DataExport | None = None,
        **kwargs: Any,
    ) -> None:
        """Build the fields. `cost_tags` are the columns of the account's cost tags, by their keys."""
        super().__init__(
            destination,
            *args,
            stored=export.config if export else None,
            stored_secrets=secret_names(export) if export else (),
            **kwargs,
        )
        self.destination, self.export = destination, export
        self._offered: dict[str, Sequence[tuple[str, str]]] = {}
        excluded = set(export.excluded_columns) if export else set()
        self._offer("console_columns", _console_choices(cost_tags), excluded)
        optional = [(name, name) for name in focus_columns() if name not in MANDATORY]
        self._offer("focus_columns", optional, excluded)
        self.fields["schedule"].initial = export.schedule if export else DataExport.Schedule.DAILY
        self.fields["with_splits"].initial = export.with_splits if export else True

    def _offer(self, name: str, choices: Sequence[tuple[str, str]], excluded: set[str]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.MultipleChoiceField)  # noqa: S101 for the type checker
        field.choices = self._offered[name] = choices
        field.initial = [value for value, _ in choices if value not in excluded]

    def excluded_columns(self) -> list[str]:
        """Return the excluded columns of a valid form: offered and not selected, or already excluded and not offered."""
        offered = {value for choices in self._offered.values() for value, _ in choices}
        selected = {value for name in self._offered for value in self.cleaned_data[name]}
        before = set(self.export.excluded_columns) if self.export else set()
        return sorted((offered - selected) | (before - offered))


def _console_choices(cost_tags: dict[str, str]) -> list[tuple[str, str]]:
    tags = [(column, f"Cost tag {key} ({column})") for key, column in cost_tags.items()]
    return [
        (TEAM, f"Team ({TEAM})"),
        *tags,
        (COST_SOURCE, f"Cost source ({COST_SOURCE})"),
        (ACTOR, f"Actor ({ACTOR})"),
        (PROVIDER_COLUMNS, "Provider columns (x_…)"),
    ]
