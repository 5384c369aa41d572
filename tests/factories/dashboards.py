"""Boards for tests."""

from __future__ import annotations

from typing import Any

import msgspec

from accounts.models import Account, User
from finops.dashboards.layouts import WidgetDraft
from finops.dashboards.models import Dashboard
from finops.dashboards.placement import Place
from finops.dashboards.services import create_dashboard
from finops.dashboards.widgets import CATALOGUE
from tests.cast import ACTOR

REQUIRED_SETTINGS: dict[str, dict[str, Any]] = {
    "unit_cost": {"unit_metric": "Per request"},
    "cost_tag_breakdown": {"cost_tag": "env"},
}
"""Required settings of widget types."""


def widget(
    type_: str = "total", place: tuple[int, int, int, int] | None = None, /, title: str = "", **config: Any
) -> WidgetDraft:
    kind = CATALOGUE[type_]
    return WidgetDraft(
        type=kind,
        title=title,
        config=msgspec.convert(config, kind.config),
        place=Place(*place) if place else None,
    )


def create_board(
    account: Account, name: str = "Weekly", /, *widgets: WidgetDraft, owner: User | None = None
) -> Dashboard:
    return create_dashboard(account=account, actor=ACTOR, name=name, owner=owner, widgets=widgets)
