from __future__ import annotations

from django.apps import AppConfig


class AllocationConfig(AppConfig):
    name = "finops.allocation"
    label = "allocation"
    verbose_name = "Allocation"

    def ready(self) -> None:
        from finops.allocation import dimensions, team_dimension  # noqa: F401 they register the dimensions
        from finops.allocation.cost_tags import own_uses  # noqa: F401 registers what uses them
        from finops.allocation.queries.split_moves import split_moves
        from finops.costs import split_registry

        split_registry.register(split_moves)
