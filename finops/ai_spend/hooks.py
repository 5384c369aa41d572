"""What AI spend adds to lower apps: its dimensions."""

from __future__ import annotations

from finops.ai_spend.dimensions import KINDS
from finops.costs.dimensions import registry

for kind in KINDS:
    registry.register(kind)
