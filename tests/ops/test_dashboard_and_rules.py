"""`ops/`: every expression parses, and names metrics and labels that the programs have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from django.conf import settings

from finops.lib.telemetry import metrics
from finops.telemetry.collector import STATES

OPS = Path(settings.BASE_DIR) / "ops"
DASHBOARD = json.loads((OPS / "grafana-dashboard.json").read_text())
RULES = [
    rule for group in yaml.safe_load((OPS / "alerts.yml").read_text())["groups"] for rule in group["rules"]
]
CASES = yaml.safe_load((OPS / "alerts.test.yml").read_text())["tests"]

LABELS: dict[str, set[str]] = {
    series: {*metric.labels, *(["le"] if series.endswith("_bucket") else [])}
    for metric in metrics.instruments
    for series in metric.series
}
LABELS |= {f"finops_{name}": {state.label} - {""} for name, state in STATES.items()}
OF_PROMETHEUS = {"up": {"job", "instance"}}
LABELS_OF = LABELS | OF_PROMETHEUS


def panels() -> Iterator[dict[str, Any]]:
    for panel in DASHBOARD["panels"]:
        yield from [panel, *panel.get("panels", [])]


def expressions() -> dict[str, str]:
    """By the panel or alert that has it. Grafana's own variables stand for a time."""
    by_place = {f"alert {rule['alert']}": rule["expr"] for rule in RULES}
    for panel in panels():
        for target in panel.get("targets", []):
            by_place[f"panel {panel['title']} {target['refId']}"] = target["expr"].replace(
                "$__rate_interval", "5m"
            )
    return by_place


def selectors(node: Any) -> Iterator[Any]:
    match node:
        case promql_parser.VectorSelector():
            yield node
        case promql_parser.MatrixSelector():
            yield node.vector_selector
        case promql_parser.BinaryExpr():
            yield from selectors(node.lhs)
            yield from selectors(node.rhs)
        case promql_parser.Call():
            for argument in node.args:
                yield from selectors(argument)
        case promql_parser.AggregateExpr() | promql_parser.ParenExpr() | promql_parser.SubqueryExpr():
            yield from selectors(node.expr)
        case promql_parser.NumberLiteral() | promql_parser.StringLiteral():
            return
        case _:
            raise AssertionError(f"say here where {type(node)} has its selectors")


@pytest.mark.parametrize("place", expressions())
def test_an_expression_names_metrics_and_labels_that_there_are(place: str) -> None:
    tree = promql_parser.parse(expressions()[place])

    tree_selectors = list(selectors(tree))
    assert tree_selectors
    for selector in tree_selectors:
        assert selector.name in LABELS_OF, f"{selector.name} is no metric"
        assert {matcher.name for matcher in selector.matchers.matchers} <= LABELS_OF[selector.name]


@pytest.mark.parametrize("place", expressions())
def test_an_expression_groups_by_labels_that_its_metrics_have(place: str) -> None:
    def walk(node: Any) -> None:
        match node:
            case promql_parser.AggregateExpr():
                by = set(node.modifier.labels) if node.modifier is not None else set()
                for selector in selectors(node.expr):
                    assert by <= LABELS_OF[selector.name], (by, selector.name)
                walk(node.expr)
            case promql_parser.BinaryExpr():
                walk(node.lhs)
                walk(node.rhs)
            case promql_parser.Call():
                for argument in node.args:
                    walk(argument)
            case promql_parser.ParenExpr() | promql_parser.SubqueryExpr():
                walk(node.expr)

    walk(promql_parser.parse(expressions()[place]))


def test_every_metric_is_on_the_dashboard_or_in_a_rule() -> None:
    in_use = {
        selector.name
        for expression in expressions().values()
        for selector in selectors(promql_parser.parse(expression))
    }
    unused = {metric.name for metric in metrics.instruments if in_use.isdisjoint(metric.series)}
    unused |= {f"finops_{name}" for name in STATES} - in_use

    assert unused == set()


def test_gauges_of_the_database_are_not_summed_over_web_processes() -> None:
    gauges = {f"finops_{name}" for name in STATES}

    def sums(node: Any) -> Iterator[str]:
        match node:
            case promql_parser.AggregateExpr() if str(node.op) == "sum":
                yield from (each.name for each in selectors(node) if each.name in gauges)
            case promql_parser.BinaryExpr():
                yield from [*sums(node.lhs), *sums(node.rhs)]

    by_place = {place: list(sums(promql_parser.parse(text))) for place, text in expressions().items()}
    assert {place: names for place, names in by_place.items() if names} == {}


def test_every_alert_says_what_happened_and_what_to_do() -> None:
    names = [rule["alert"] for rule in RULES]
    assert len(names) == len(set(names))
    for rule in RULES:
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"].keys() == {"summary", "action"}


def test_every_alert_is_seen_to_fire_in_a_case() -> None:
    fires = {case["alertname"] for test in CASES for case in test["alert_rule_test"] if case["exp_alerts"]}

    assert fires == {rule["alert"] for rule in RULES}


def test_panels_have_a_place_of_their_own() -> None:
    occupied: set[tuple[int, int]] = set()
    for panel in panels():
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert max(x for x, _ in cells) < 24
        assert not cells & occupied, panel["title"]
        occupied |= cells
    assert len({panel["id"] for panel in panels()}) == len(list(panels()))


def test_every_metric_is_documented() -> None:
    text = (Path(settings.BASE_DIR) / "docs" / "operations.md").read_text()

    names = [*(metric.name for metric in metrics.instruments), *(f"finops_{name}" for name in STATES)]
    assert [name for name in names if f"`{name}" not in text] == []
