"""Arguments and results of the dashboard tools."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from finops.lib.answers import AccountAnswer


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """Columns 0 to 11, rows from 0; w and h: the type's own if left out."""

    x: int
    y: int
    w: int | None = None
    h: int | None = None


class WidgetLayout(msgspec.Struct, frozen=True, kw_only=True):
    """A widget."""

    __doc__ = None
    type: Annotated[str, Meta(description="From listWidgetTypes.")]
    title: Annotated[str, Meta(description="Default: the type's.", max_length=100)] = ""
    config: Annotated[dict[str, Any], Meta(description="By the type's config_schema.")] = {}
    position: Annotated[Position | None, Meta(description="Default: the first free place.")] = None


class BoardLayout(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    name: str
    version: str
    widgets: list[WidgetLayout]


class BoardAnswer(AccountAnswer, frozen=True, kw_only=True):
    dashboard: BoardLayout | None
    warnings: list[str]
    hint: str
    console_url: str = ""


class DashboardRow(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    name: str
    widgets: int
    changed_at: datetime
    console_url: str = ""


class DashboardsAnswer(AccountAnswer, frozen=True, kw_only=True):
    dashboards: list[DashboardRow]
    places_left: int
    cursor: str
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""


class DeletedAnswer(AccountAnswer, frozen=True, kw_only=True):
    deleted_id: int
    warnings: list[str]
    hint: str
    console_url: str = ""
