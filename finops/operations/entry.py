"""Entries of the catalog: a model of the console, and a group of models."""

from __future__ import annotations

from dataclasses import dataclass

from django.apps import apps
from django.db import models
from django.utils.text import slugify


@dataclass(frozen=True)
class Entry:
    """A model of the console. `columns`, `search` and `filters` are names of fields; without columns the first ones."""

    model_label: str
    columns: tuple[str, ...] = ()
    search: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    title: str = ""
    in_panel: tuple[str, ...] = ()
    """Fields that the panel of a row's page shows (`panels.py`)."""

    @property
    def model(self) -> type[models.Model]:
        return apps.get_model(self.model_label)

    @property
    def label(self) -> str:
        """`MCP keys`."""
        name = self.title or str(self.model._meta.verbose_name_plural)
        return name[:1].upper() + name[1:]


@dataclass(frozen=True)
class ModelGroup:
    """Models under a heading of the navigation."""

    label: str
    icon: str
    entries: tuple[Entry, ...]

    @property
    def slug(self) -> str:
        return slugify(self.label)
