"""Destinations of exports: each module here is one kind of storage, found automatically."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Any

from finops.data_exports.destination import Destination
from finops.lib.errors import UserError


@cache
def destinations() -> Mapping[str, Destination[Any]]:
    """Every destination by name, in the order of the page. Raises TypeError for a module without exactly one."""
    instances: list[Destination[Any]] = []
    for module_info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{module_info.name}")
        own = [
            each
            for each in vars(module).values()
            if isinstance(each, type) and issubclass(each, Destination) and each.__module__ == module.__name__
        ]
        if len(own) != 1:
            raise TypeError(f"{module.__name__} must have one subclass of Destination")
        instances.append(own[0]())
    return {each.name: each for each in sorted(instances, key=lambda each: (each.order, each.title))}


def destination_of(name: str) -> Destination[Any]:
    """Return the destination of this name. Raises UserError for an unknown name."""
    try:
        return destinations()[name]
    except KeyError:
        raise UserError(
            f"This console has no destination {name!r}.", field="destination", value=name
        ) from None
