"""The connectors, one in each module of this package. A new module needs no registration."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Any

from finops.connections.connector import Connector
from finops.lib.errors import UserError


@cache
def connectors() -> Mapping[str, Connector[Any]]:
    """Return every connector by name, in the order of the wizard. Raises TypeError for a module without exactly one connector."""
    instances: list[Connector[Any]] = []
    for module_info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{module_info.name}")
        classes = [
            each
            for each in vars(module).values()
            if isinstance(each, type) and issubclass(each, Connector) and each.__module__ == module.__name__
        ]
        public = [each for each in classes if not each.__name__.startswith("_")]
        if len(public) != 1:
            raise TypeError(f"{module.__name__} must have one public subclass of Connector")
        instances.append(public[0]())
    return {each.name: each for each in sorted(instances, key=lambda each: (each.order, each.title))}


def connector_of(name: str) -> Connector[Any]:
    """Return the connector of this name. Raises UserError for an unknown name, for example of a newer version."""
    try:
        return connectors()[name]
    except KeyError:
        raise UserError(f"This console has no connector {name!r}.", field="connector", value=name) from None
