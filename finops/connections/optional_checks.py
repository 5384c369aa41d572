"""Optional permissions of a connection's credentials besides cost. Other apps register a check each; *Test
connection* runs them after all required checks have passed."""

from __future__ import annotations

from collections.abc import Callable

from finops.connections.connector import CheckFinding, ConnectorConfig
from finops.lib.registry import Registry

OptionalCheck = Callable[[ConnectorConfig], list[CheckFinding]]

optional_checks: Registry[OptionalCheck] = Registry("optional check")


def optional_findings(config: ConnectorConfig) -> list[CheckFinding]:
    return [finding for check in optional_checks.values() for finding in check(config)]
