"""What the credentials of a connection may read besides cost, where they are allowed to: apps above add a check each, which
*Test connection* makes once all that cost needs works."""

from __future__ import annotations

from collections.abc import Callable

from finops.connections.connector import CheckFinding, ConnectorConfig
from finops.lib.registry import Registry

OptionalCheck = Callable[[ConnectorConfig], list[CheckFinding]]

optional_checks: Registry[OptionalCheck] = Registry("optional check")


def optional_findings(config: ConnectorConfig) -> list[CheckFinding]:
    return [finding for check in optional_checks.values() for finding in check(config)]
