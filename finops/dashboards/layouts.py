"""Requested widgets and their validation for a board. Pure, except for checking the names in settings."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final

import msgspec

from accounts.models import Account
from finops.dashboards.models import Widget
from finops.dashboards.placement import Place, PlacementRequest, places_of
from finops.dashboards.schemas import Position, WidgetLayout
from finops.dashboards.widget_type import CheckContext, Config, WidgetType
from finops.dashboards.widgets import CATALOGUE
from finops.lib.errors import UserError
from finops.lib.sentences import truncate

MAX_WIDGETS: Final = 40
MAX_LAYOUT_BYTES: Final = 18_000
"""The maximum of bytes of a board's widgets as JSON, so that the whole answer stays below a tool's 25 KB."""

MAX_TITLE: Final = 100


@dataclass(frozen=True, kw_only=True)
class WidgetDraft:
    """A requested widget. Without a place it gets the first free one. `plans_ahead`: as in CheckContext."""

    type: WidgetType[Any]
    config: Config
    title: str = ""
    place: Place | None = None
    plans_ahead: bool = False

    @property
    def shown_title(self) -> str:
        return self.title or self.type.title

    @property
    def stored_config(self) -> dict[str, Any]:
        fields: dict[str, Any] = msgspec.to_builtins(self.config)
        return fields


@dataclass(frozen=True, kw_only=True)
class PlacedWidget:
    """A validated widget with its place."""

    draft: WidgetDraft
    place: Place


def draft_of(widget: Widget) -> WidgetDraft:
    """Return a draft equal to a stored widget."""
    kind = CATALOGUE[widget.type]
    return WidgetDraft(
        type=kind, config=kind.read_config(widget.config), title=widget.title, place=place_of(widget)
    )


def place_of(widget: Widget) -> Place:
    return Place(widget.x, widget.y, widget.w, widget.h)


def layout_of(widget: Widget) -> WidgetLayout:
    """Return a stored widget in the form of the tools; sending it back gives the same widget."""
    config = CATALOGUE[widget.type].read_config(widget.config)
    return WidgetLayout(
        type=widget.type,
        title=widget.title,
        config=msgspec.to_builtins(config, builtin_types=(Decimal,)),
        position=Position(x=widget.x, y=widget.y, w=widget.w, h=widget.h),
    )


def arrange_widgets(
    account: Account, drafts: Sequence[WidgetDraft], old_settings: Collection[tuple[str, str]] = ()
) -> list[PlacedWidget]:
    """Return the widgets with their places. `old_settings` are the board's current settings (`settings_of`): names in
    them are not checked again, so that a board stays valid after a budget or unit metric of it is deleted.

    Raises UserError that names the widget: too many, a title or layout too long, settings with an unknown name, or an
    invalid place.
    """
    if len(drafts) > MAX_WIDGETS:
        raise UserError(
            f"widgets: {len(drafts)} widgets; the maximum is {MAX_WIDGETS}.",
            field="widgets",
        )
    names = [_name(index, draft) for index, draft in enumerate(drafts)]
    context = CheckContext(account, plans_ahead=any(draft.plans_ahead for draft in drafts))
    for name, draft in zip(names, drafts, strict=True):
        _check_title(name, draft.title)
        if settings_of(draft) not in old_settings:
            _check_settings(name, draft, context)
    requests = [
        PlacementRequest(name, draft.place, draft.type.width, draft.type.height)
        for name, draft in zip(names, drafts, strict=True)
    ]
    placed_widgets = [
        PlacedWidget(draft=draft, place=place)
        for draft, place in zip(drafts, places_of(requests), strict=True)
    ]
    _check_size(placed_widgets)
    return placed_widgets


def settings_of(draft: WidgetDraft) -> tuple[str, str]:
    """Return a widget's settings for comparison."""
    return draft.type.name, msgspec.json.encode(draft.config, order="deterministic").decode()


def version_of(drafts: Sequence[WidgetDraft]) -> str:
    """Return the version of a board's layout: equal layouts have the same."""
    layout = [(draft.place, draft.title, settings_of(draft)) for draft in drafts]
    return sha256(msgspec.json.encode(layout)).hexdigest()[:12]


def _name(index: int, draft: WidgetDraft) -> str:
    """Return the widget's name in messages; the index is that in the tool's list."""
    return f"widgets[{index}] {truncate(draft.shown_title, 60)!r}"


def _check_title(name: str, title: str) -> None:
    if len(title) > MAX_TITLE or "\x00" in title:
        raise UserError(
            f"{name}: the title must have at most {MAX_TITLE} characters and no NUL.", field="title"
        )


def _check_settings(name: str, draft: WidgetDraft, context: CheckContext) -> None:
    if "\\u0000" in settings_of(draft)[1]:
        raise UserError(f"{name}: the config must not have a NUL character.", field="config")
    try:
        draft.type.check(draft.config, context)
    except UserError as problem:
        raise UserError(f"{name}: {problem.message}", field=problem.field, value=problem.value) from problem


def _check_size(placed_widgets: Sequence[PlacedWidget]) -> None:
    sizes = [
        len(msgspec.json.encode([each.draft.type.name, each.draft.title, each.draft.config])) + 80
        for each in placed_widgets
    ]
    if sum(sizes) > MAX_LAYOUT_BYTES:
        longest = max(range(len(sizes)), key=sizes.__getitem__)
        raise UserError(
            f"widgets: the layout has {sum(sizes):,} bytes; the maximum is {MAX_LAYOUT_BYTES:,}. The "
            f"longest is {_name(longest, placed_widgets[longest].draft)} with {sizes[longest]:,}: "
            "shorten its text or filters.",
            field="widgets",
        )
