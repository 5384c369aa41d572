"""The rules: what each is called, how much work and risk its advice is, and which goes before which on one resource."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    name: str
    label: str
    effort: str
    risk: str
    why: str


UNUSED = Rule(
    "unused_commitment",
    "Unused commitments",
    "medium",
    "low",
    "It is paid for whether used or not; moving usage to it costs nothing more.",
)
WEEKENDS = Rule(
    "weekends_off",
    "Dev and test on at weekends",
    "low",
    "low",
    "Tagged as dev or test; a schedule can turn it off and on. Someone may work at a weekend.",
)
GENERATIONS = Rule(
    "previous_generation",
    "Previous generations",
    "medium",
    "medium",
    "A restart on other hardware: test drivers, kernel and performance first.",
)
VOLUMES = Rule(
    "volume_type",
    "Volume types",
    "low",
    "low",
    "The type changes while the volume is in use; above 3,000 IOPS or 125 MiB/s gp3 costs more.",
)
GROWTH = Rule(
    "growing_storage",
    "Storage that only grows",
    "medium",
    "medium",
    "Only its owners know what is still needed; deleting cannot be undone.",
)
ON_DEMAND = Rule(
    "steady_on_demand",
    "Steady on-demand compute",
    "low",
    "medium",
    "A commitment binds for a year, whatever the usage does. Bills by day do not show hours within the day.",
)

HUB = Rule(
    "cost_optimization_hub",
    "AWS Cost Optimization Hub",
    "medium",
    "medium",
    "As AWS says.",
)

PRECEDENCE: tuple[Rule, ...] = (UNUSED, HUB, WEEKENDS, GENERATIONS, VOLUMES, GROWTH, ON_DEMAND)
"""A line that an earlier rule counts is not counted by a later one."""

RULES: dict[str, Rule] = {rule.name: rule for rule in PRECEDENCE}
