"""The native formats: each module in this package is one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache

from finops.costs.native.native_format import NativeFormat


@cache
def native_formats() -> Sequence[NativeFormat]:
    """Return every format, in the order of trying. TypeError for a module without exactly one public format."""
    formats: list[NativeFormat] = []
    for module_info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{module_info.name}")
        own = [
            each
            for each in vars(module).values()
            if isinstance(each, type)
            and issubclass(each, NativeFormat)
            and each.__module__ == module.__name__
        ]
        public = [each for each in own if not each.__name__.startswith("_")]
        if len(public) != 1:
            raise TypeError(f"{module.__name__} must have one public subclass of NativeFormat")
        formats.append(public[0]())
    return sorted(formats, key=lambda each: (each.order, each.title))


def format_of(names: Sequence[str]) -> NativeFormat | None:
    """Return the first format that recognises a file by its column names; None for FOCUS and unknown formats."""
    return next((each for each in native_formats() if each.recognises(names)), None)
