"""The types of widgets, one module each. A new type needs a module here and a template; no list."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Final

from finops.dashboards.widget_type import WidgetType
from finops.lib.errors import unknown_value
from finops.lib.registry import Registry


def _types() -> Iterator[WidgetType[Any]]:
    for info in iter_modules(__path__, f"{__name__}."):
        module = import_module(info.name)
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, WidgetType) and value.__module__ == info.name:
                yield value()


CATALOGUE: Final = Registry[WidgetType[Any]]("widget type")
for _type in sorted(_types(), key=lambda each: each.order):
    CATALOGUE.add(_type.name, _type)


def find_type(name: str, *, field: str = "type") -> WidgetType[Any]:
    """Return the type of this name, in any spelling (`Spend by`). Raises UserError with the nearest."""
    key = name.strip().lower().replace(" ", "_").replace("-", "_")
    widget_type = CATALOGUE.get(key)
    if widget_type is None:
        raise unknown_value(field, name, CATALOGUE, listed_by="listWidgetTypes", show=str)
    return widget_type
