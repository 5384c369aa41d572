"""The settings of a widget as form fields, and their submitted values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec
from msgspec.structs import FieldInfo

from finops.costs.views.choices import BASES, COMPARISONS, GRANULARITIES, PERIODS, SPLITS
from finops.dashboards.widget_type import BoardQuery, Config, Setting, WidgetType
from finops.lib.params import from_text

COMMON: Final = (
    Setting("period", "Period", "select", PERIODS),
    Setting("granularity", "Granularity", "select", GRANULARITIES[1:]),
    Setting("group_by", "Group by", "dimension", may_be_empty=True),
    Setting("limit", "Maximum", "number"),
    Setting("splits", "Shared costs", "select", SPLITS),
    Setting("basis", "Basis", "select", BASES, first="As in the cost view"),
    Setting("compare_to", "Compare with", "select", COMPARISONS),
)
"""Settings that a type does not need to declare."""

OF_SEVERAL: Final = ("checks", "dimensions")
"""Kinds of settings with several values; a list with a setting of another kind has one at most."""


def _settings(kind: WidgetType[Any]) -> list[tuple[FieldInfo, Setting]]:
    """Yield each field of the type's config except the filters, with its setting."""
    settings = {setting.name: setting for setting in (*COMMON, *kind.settings)}
    fields = msgspec.structs.fields(kind.config)
    return [(info, settings[info.name]) for info in fields if info.name != "filters"]


def fields_of(kind: WidgetType[Any], config: Config | None) -> list[Setting]:
    """Return the form fields with a widget's current values, or the defaults. One query for each list of choices."""
    fields = []
    for info, setting in _settings(kind):
        value = getattr(config, info.name) if config is not None else _default(info)
        choices = setting.choices() if callable(setting.choices) else setting.choices
        if isinstance(value, list) and setting.kind not in OF_SEVERAL:
            value = next(iter(value), "")
        fields.append(replace(setting, choices=choices, value="" if value is None else value))
    return fields


def _default(info: FieldInfo) -> Any:
    if info.default is not msgspec.NODEFAULT:
        return info.default
    return "" if info.default_factory is msgspec.NODEFAULT else info.default_factory()


def config_from_form(kind: WidgetType[Any], params: Mapping[str, Sequence[str]]) -> Config:
    """Return the settings of a form. Raises UserError that names the field."""
    raw: dict[str, Any] = {}
    if kind.takes_filters:
        filters = BoardQuery.from_params(params).with_complete_filters().filters
        raw["filters"] = msgspec.to_builtins(filters)
    for info, setting in _settings(kind):
        values = list(params.get(info.name, ()))
        if setting.kind in OF_SEVERAL or (values and isinstance(_default(info), list)):
            raw[info.name] = [value for value in values if value]
        elif values and (values[-1] or setting.may_be_empty):
            raw[info.name] = values[-1]
    config: Config = from_text(raw, kind.config)
    return config
