"""Grouping of anomalies into incidents on accounts with known results (`incident_worlds`), by the threshold for
joining.

A pair is correct if both belong to one planted event. `money`: total of open incidents and of all anomalies, divided
by the planted amount. *Causes alone* has no measured overlap, as before docs/adr/0047.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from time import process_time

from benchmarks.incident_worlds import WORLDS, Case, cases
from benchmarks.table import Row
from finops.insights.anomalies import grouping

JOIN_SHARES = ("0.2", "0.35", "0.5", "0.65", "0.8", "0.95")


def measure() -> list[Row]:
    rows: list[Row] = []
    default_share = grouping.JOIN_SHARE
    for name, world in WORLDS.items():
        world_cases = cases(world)
        plain = [
            replace(case, views=[replace(view, overlaps={}) for view in case.views]) for case in world_cases
        ]
        for share in JOIN_SHARES:
            grouping.JOIN_SHARE = Decimal(share)  # type: ignore[misc]
            rows.append({"world": name, "joins from": share, **_figures(world_cases)})
        grouping.JOIN_SHARE = default_share  # type: ignore[misc]
        rows.append({"world": name, "joins from": "0.5, causes alone", **_figures(plain)})
    return rows


def _figures(world_cases: Sequence[Case]) -> dict[str, float]:
    together = same = right = incidents = views = 0
    counted = planted = every = 0.0
    start = process_time()
    groups_of = [grouping.incident_groups(case.views) for case in world_cases]
    seconds = process_time() - start
    for case, groups in zip(world_cases, groups_of, strict=True):
        group_of = {member: place for place, group in enumerate(groups) for member in group.members}
        for first, second in combinations(case.events, 2):
            is_same, is_together = (
                case.events[first] == case.events[second],
                group_of[first] == group_of[second],
            )
            same, together, right = same + is_same, together + is_together, right + (is_same and is_together)
        impacts = {view.id: float(view.impact) for view in case.views}
        up = [group for group in groups if impacts[group.headline] > 0]
        counted += sum(sum(impacts[pk] for pk in group.counted) - float(group.shared) for group in up)
        every += sum(impact for impact in impacts.values() if impact > 0)
        planted, incidents, views = planted + case.planted, incidents + len(groups), views + len(case.views)
    return {
        "pair precision": round(right / together, 3) if together else 1.0,
        "pair recall": round(right / same, 3),
        "cost of incidents ÷ planted": round(counted / planted, 2),
        "cost of all anomalies ÷ planted": round(every / planted, 2),
        "anomalies": views,
        "incidents": incidents,
        "CPU ms per account": round(seconds * 1_000 / len(world_cases), 2),
    }
