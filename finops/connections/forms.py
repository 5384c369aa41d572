"""The form of a connection: its name and schedule, and a field for each field of its connector's `Config`.

No config has a field with the name of one of the form's own fields; a contract test of connectors checks this.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import msgspec
from django import forms
from django.conf import settings
from django.core.validators import RegexValidator
from django.forms import BoundField
from msgspec import inspect

from finops.connections.configs import is_required, missing_fields
from finops.connections.connector import Configurable, Connector, fields_of, secret_fields
from finops.connections.models import DEFAULT_INTERVAL, INTERVALS
from finops.connections.widgets import SuggestingInput, quiet, text_widget
from finops.lib import clock
from finops.lib.periods import add_months, month_start
from finops.lib.sentences import missing_text

AMBIENT: Final = "server_identity"
"""The choice of this server's own identity at the provider."""
KEEP_HINT = "Stored. Leave empty to keep it."
LONG_TEXT: Final = 500
"""Texts with a maximum length above this have several lines: a key file, a query."""
MAX_TEXT: Final = 20_000
MONTHS_OFFERED: Final = 60
SEVERAL = (inspect.ListType, inspect.VarTupleType, inspect.SetType, inspect.FrozenSetType)


class LinesField(forms.CharField):
    """A list of texts, one on each line."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> Any:
        return [line.strip() for line in str(value or "").splitlines() if line.strip()]

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(map(str, value)) if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class ConfigField:
    """Description of a config's field: its type without `Meta` and None, and its texts for the form."""

    name: str
    type: inspect.Type
    title: str
    description: str
    example: str
    required: bool
    default: Any
    secret: bool
    suggestions: tuple[tuple[str, str], ...] = ()
    """Suggested values, each with its label; other values are valid too."""
    shown_for: Mapping[str, Any] | None = None
    """The condition of `connector.shown_for`; None: always shown."""
    required_for: Mapping[str, Any] | None = None
    """The condition of `connector.required_for`; None: `required` applies."""

    @classmethod
    def of(cls, field: inspect.Field, *, secret: bool) -> ConfigField:
        kind, words = _plain_type(field.type)
        examples = words.get("examples") or [""]
        default = None if field.default is msgspec.NODEFAULT else field.default
        return cls(
            name=field.name,
            type=kind,
            title=words.get("title") or field.name.replace("_", " ").capitalize(),
            description=words.get("description", ""),
            example=str(examples[0]),
            required=field.required,
            default=default,
            secret=secret,
            suggestions=tuple(words.get("suggestions", ())),
            shown_for=words.get("shown_for"),
            required_for=words.get("required_for"),
        )

    @property
    def plain_default(self) -> Any:
        return self.default.value if isinstance(self.default, enum.Enum) else self.default

    def form_field(self) -> forms.Field:
        """Return the form field. Raises TypeError for a type without a form field."""
        common: dict[str, Any] = {
            "label": self.title,
            "help_text": self.description,
            "required": self.required,
            "error_messages": {"required": missing_text(self.title)},
        }
        kind = self.type
        if isinstance(kind, inspect.BoolType):
            return forms.BooleanField(**{**common, "required": False})
        if isinstance(kind, inspect.LiteralType | inspect.EnumType):
            choices = [
                (str(value), _choice_text(str(value)))
                for value in _access_values(_choices(kind), self.plain_default)
            ]
            return forms.ChoiceField(
                choices=choices if self.required else _with_default(choices, self), **common
            )
        if isinstance(kind, inspect.IntType):
            return forms.IntegerField(min_value=kind.ge, max_value=kind.le, **common)
        if isinstance(kind, SEVERAL):
            return LinesField(widget=forms.Textarea(attrs={"rows": 3, **quiet(self.example)}), **common)
        if isinstance(kind, inspect.StrType):
            return self._text_field(kind, common)
        raise TypeError(f"{self.name}: no form field is of the type {kind}")

    def _text_field(self, kind: inspect.StrType, common: Mapping[str, Any]) -> forms.CharField:
        several_lines = (kind.max_length or 0) > LONG_TEXT
        validators = []
        if kind.pattern:
            hint = f" For example: {self.example}" if self.example else ""
            validators.append(RegexValidator(kind.pattern, f"Invalid format.{hint}"))
        return forms.CharField(
            min_length=kind.min_length,
            max_length=kind.max_length or MAX_TEXT,
            validators=validators,
            widget=SuggestingInput(self.suggestions, self.example)
            if self.suggestions
            else text_widget(self.secret, several_lines, self.example),
            **common,
        )


@dataclass(frozen=True)
class BoundConfigField:
    """A field of a form, and the conditions under which it is shown and required."""

    bound: BoundField
    described: ConfigField
    required_for: Mapping[str, Any] | None
    """The condition of `connector.required_for`; None for a field that may stay empty."""

    @property
    def shown_with(self) -> str:
        """The HTML ID of the field on which the condition depends; empty for a field that is always shown."""
        condition = self.described.shown_for
        return self.bound.form[condition["field"]].auto_id if condition else ""

    @property
    def shown_choices(self) -> str:
        condition = self.described.shown_for
        return " ".join(condition["choices"]) if condition else ""

    @property
    def is_required(self) -> bool:
        """Whether the current values of the form require the field."""
        return self.required_for is not None and is_required(self.required_for, _FormValues(self.bound.form))

    @property
    def required_with(self) -> str:
        """The HTML ID of the field on whose choices `required_choices` the field is required; empty without such a condition."""
        return self.bound.form[self.required_for["field"]].auto_id if self.required_for else ""

    @property
    def required_choices(self) -> str:
        return " ".join(self.required_for["choices"]) if self.required_for else ""

    @property
    def required_unless(self) -> str:
        """The HTML ID of the field that replaces this one; empty for none."""
        name = self.required_for["unless"] if self.required_for else ""
        return self.bound.form[name].auto_id if name else ""

    @property
    def required_pair(self) -> str:
        """The HTML ID of the field with which the field is required on the choices `pair_choices`; empty for none."""
        name = self.required_for["pair"] if self.required_for else ""
        return self.bound.form[name].auto_id if name else ""

    @property
    def pair_choices(self) -> str:
        return " ".join(self.required_for["pair_choices"]) if self.required_for else ""


class _FormValues(Mapping[str, Any]):
    """The current values of a form: entered, or else initial."""

    def __init__(self, form: forms.BaseForm) -> None:
        self._form = form

    def __getitem__(self, name: str) -> Any:
        return self._form[name].value()

    def __iter__(self) -> Iterator[str]:
        return iter(self._form.fields)

    def __len__(self) -> int:
        return len(self._form.fields)


def _plain_type(kind: inspect.Type) -> tuple[inspect.Type, dict[str, Any]]:
    """Return a type without its `Meta` and without None, and the extra JSON schema of the `Meta`, such as title and description."""
    words: dict[str, Any] = {}
    while isinstance(kind, inspect.Metadata | inspect.UnionType):
        if isinstance(kind, inspect.Metadata):
            words = {**(kind.extra_json_schema or {}), **words}
            kind = kind.type
        else:
            kind = next(each for each in kind.types if not isinstance(each, inspect.NoneType))
    return kind, words


def _choices(kind: inspect.LiteralType | inspect.EnumType) -> list[Any]:
    return [each.value for each in kind.cls] if isinstance(kind, inspect.EnumType) else list(kind.values)


def _access_values(values: list[Any], default: Any) -> list[Any]:
    """Return the choices with the server's own identity first, if the operator allows it, because it needs no stored
    credential; then the default."""
    offered = [each for each in values if each != AMBIENT or settings.CONNECTION_AMBIENT_IDENTITY]
    return sorted(offered, key=lambda each: (each != AMBIENT, each != default))


def _choice_text(value: str) -> str:
    return value.replace("_", " ").capitalize() if value.isidentifier() and value.islower() else value


def _with_default(choices: list[tuple[str, str]], field: ConfigField) -> list[tuple[str, str]]:
    return choices if field.default is not None else [("", "Automatic"), *choices]


def _offer_ambient(field: forms.ChoiceField, *, is_stored: bool) -> None:
    """Keep a stored server identity as a choice even if the operator no longer allows it; make it the initial choice
    of a new connection."""
    choices: list[tuple[str, str]] = list(field.choices)  # type: ignore[arg-type]  # flat: as `_access_values` gives them
    values = [value for value, _ in choices]
    if is_stored and field.initial == AMBIENT and AMBIENT not in values:
        field.choices = [*choices, (AMBIENT, _choice_text(AMBIENT))]
    elif not is_stored and values[:1] == [AMBIENT]:
        field.initial = AMBIENT


def config_fields(connector: Configurable) -> list[ConfigField]:
    """Return the described fields of a connector's config, in order."""
    secrets = set(secret_fields(connector.Config))
    described = inspect.type_info(connector.Config)
    assert isinstance(described, inspect.StructType)  # noqa: S101 for the type checker
    by_name = {each.name: each for each in described.fields}
    return [ConfigField.of(by_name[each.name], secret=each.name in secrets) for each in fields_of(connector)]


def _month_choices(month: date | None) -> list[tuple[str, str]]:
    newest = month_start(clock.today())
    months = [add_months(newest, -back) for back in range(MONTHS_OFFERED)]
    if month is not None and month not in months:
        months.append(month)
    return [("", "All available months"), *((each.isoformat(), f"{each:%B %Y}") for each in months)]


def _interval_choices(minutes: int) -> list[tuple[int, str]]:
    if minutes in dict(INTERVALS):
        return INTERVALS
    return sorted([*INTERVALS, (minutes, f"Every {minutes:,} minutes")])


def _optional_month(text: str) -> date | None:
    return date.fromisoformat(text) if text else None


class ConfigForm(forms.Form):
    """A name, and a field for each field of a config. For an existing config without the name; empty secret fields
    keep the stored secrets."""

    name = forms.CharField(
        max_length=100,
        help_text="Shown in reports and to assistants.",
        error_messages={"required": "Give the source a name."},
    )

    def __init__(
        self,
        connector: Configurable,
        *args: Any,
        stored: Mapping[str, Any] | None = None,
        stored_secrets: Collection[str] = (),
        **kwargs: Any,
    ) -> None:
        """Build the fields. `stored` is the public part of an existing config, `stored_secrets` the names of its secrets."""
        super().__init__(*args, **kwargs)
        self.connector, self.exists = connector, stored is not None
        self._stored_secrets = dict.fromkeys(stored_secrets, KEEP_HINT)
        self._missing_before = self._missing(stored) if stored is not None else []
        if self.exists:
            del self.fields["name"]
        self.config_fields = config_fields(connector)
        for described in self.config_fields:
            self.fields[described.name] = self._field_of(described, stored or {})

    def _field_of(self, described: ConfigField, stored: Mapping[str, Any]) -> forms.Field:
        field = described.form_field()
        field.initial = stored.get(described.name, described.plain_default)
        if isinstance(field, forms.ChoiceField):
            _offer_ambient(field, is_stored=described.name in stored)
        if described.name in self._stored_secrets:
            field.required = False
            field.help_text = KEEP_HINT
            field.widget.attrs.pop("placeholder", None)
        return field

    @property
    def bound_config_fields(self) -> list[BoundConfigField]:
        return [
            BoundConfigField(
                self[each.name], each, None if self._may_be_empty(each.name) else each.required_for
            )
            for each in self.config_fields
        ]

    def _missing(self, values: Mapping[str, Any]) -> list[str]:
        return missing_fields(
            self.connector,
            {**self._stored_secrets, **values},
            kept_secrets=self._stored_secrets.keys() - values.keys(),
        )

    def _may_be_empty(self, name: str) -> bool:
        return name in self._missing_before or name in self._stored_secrets

    def clean(self) -> None:
        """Add an error to each empty field that the values of other fields require."""
        entered = {name: value for name, value in self.config_values().items() if value != ""}
        for name in self._missing(entered):
            if name not in self._missing_before and name not in self.errors:
                self.add_error(name, missing_text(str(self.fields[name].label)))

    def config_values(self) -> dict[str, Any]:
        """Return the submitted values of a valid form by name. An empty value is "", which stands for the field's default."""
        values = {each.name: self.cleaned_data.get(each.name) for each in self.config_fields}
        return {name: "" if value is None else value for name, value in values.items()}

    def problems(self) -> list[str]:
        """Return the errors as sentences that begin with their field."""
        return [
            f"{self.fields[name].label or name.capitalize()}: {text}" if name in self.fields else str(text)
            for name, texts in self.errors.items()
            for text in texts
        ]


class ConnectionForm(ConfigForm):
    """The form of a new or an existing connection."""

    connector: Connector[Any]

    first_month = forms.TypedChoiceField(
        label="Start month", required=False, coerce=_optional_month, empty_value=None
    )
    interval_minutes = forms.TypedChoiceField(
        label="Schedule",
        coerce=int,
        initial=DEFAULT_INTERVAL,
        help_text="Unchanged months are not read again.",
    )

    def __init__(
        self,
        connector: Connector[Any],
        *args: Any,
        first_month: date | None = None,
        interval_minutes: int = DEFAULT_INTERVAL,
        **kwargs: Any,
    ) -> None:
        super().__init__(connector, *args, **kwargs)
        months, intervals = self.fields["first_month"], self.fields["interval_minutes"]
        assert isinstance(months, forms.ChoiceField)  # noqa: S101 for the type checker
        assert isinstance(intervals, forms.ChoiceField)  # noqa: S101 for the type checker
        months.choices = _month_choices(first_month)
        months.initial = first_month.isoformat() if first_month else ""
        intervals.choices = _interval_choices(interval_minutes)
        intervals.initial = interval_minutes
