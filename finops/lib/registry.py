"""Extension points: an app offers a registry, and apps that depend on it add entries in their `hooks.py`.

    team_panels: Registry[PanelBuilder] = Registry("team panel")  # in finops/allocation/team_panels.py

    @team_panels.register("budgets")  # in finops/budgets/hooks.py
    def team_budgets(account: Account, team: Team) -> TeamPanel | None: …

Only an app's `AppConfig.ready` imports its `hooks.py`, so entries stand in the order of INSTALLED_APPS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """Entries by name, in the order they were added. `entry_type` names an entry in errors."""

    def __init__(self, entry_type: str) -> None:
        self.entry_type = entry_type
        self._entries: dict[str, T] = {}

    def add(self, name: str, entry: T) -> None:
        """Add an entry. Raises ValueError when the name is taken."""
        if name in self._entries:
            raise ValueError(f"The {self.entry_type} {name!r} is registered twice.")
        self._entries[name] = entry

    def register(self, name: str) -> Callable[[T], T]:
        """Add the decorated function; raises ValueError when the name is taken."""

        def add(entry: T) -> T:
            self.add(name, entry)
            return entry

        return add

    def __getitem__(self, name: str) -> T:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
