"""Registrations of apps with lower apps: from one module each, in an order that no import changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps

from accounts.services.deletion import account_files
from finops.allocation.cost_tags.uses import dimension_uses
from finops.allocation.team_panels import team_panels
from finops.costs.answer_warnings import answer_warnings
from finops.costs.dimensions import registry
from finops.insights.spend_change.queries import related_events
from tests.source_tree import PACKAGES, ROOT, tracked_files


def test_only_an_app_imports_its_hooks() -> None:
    importers = {
        str(path.relative_to(ROOT))
        for path in tracked_files()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in PACKAGES
        for module in imported_modules(path)
        if module.rpartition(".")[2] == "hooks"
    }

    with_hooks = [Path(config.path) for config in apps.get_app_configs()]
    assert importers == {
        str((path / "apps.py").relative_to(ROOT)) for path in with_hooks if (path / "hooks.py").exists()
    }


def imported_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (list(account_files), ["lake", "costs", "ingestion", "connections", "exports"]),
        (
            list(dimension_uses),
            [
                "team key",
                "cost tags",
                "splits",
                "saved views",
                "product key",
                "budgets",
                "customer key",
                "unit metrics",
                "alerts",
                "dashboards",
            ],
        ),
        (list(team_panels), ["budgets", "dashboards"]),
        (
            list(answer_warnings),
            [
                "source_overlaps",
                "lagging_sources",
                "unfinished_days",
                "outside_the_data",
                "unhealthy_connections",
            ],
        ),
        (list(related_events), ["new_sources", "anomalies"]),
        (
            [kind.name for kind in registry.kinds()][-8:],
            [
                *("cost_tag:", "team", "customer"),
                *("ai_vendor", "ai_model", "ai_token_type", "ai_person", "ai_key"),
            ],
        ),
    ],
)
def test_entries_are_in_the_order_of_the_apps(names: list[str], expected: list[str]) -> None:
    assert names == expected
