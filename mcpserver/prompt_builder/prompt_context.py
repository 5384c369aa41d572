"""Context while a prompt is rendered or completed: the given arguments, and the account, which is read only when
needed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cached_property
from typing import Generic, TypeVar

from accounts.models import Account
from finops.allocation.queries.cost_tags import cost_tag_keys
from finops.allocation.queries.teams import team_names
from finops.budgets.models import Budget
from finops.budgets.queries import budgets_of
from finops.costs.coverage import Coverage
from finops.costs.dimensions import DimensionContext
from finops.costs.queries.sources import Sources, load_sources
from finops.lib import clock
from mcpserver.context import ToolCall
from mcpserver.registry import Completion

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Argument(Generic[T]):
    """An argument of prompts: how its text is read, which raises UserError, and how it is completed."""

    name: str
    title: str
    description: str
    read: Callable[[PromptContext, str], T]
    complete: Callable[[PromptContext, str], Completion]


class PromptContext:
    """Context of one request. The account must be in scope; each property costs one or two queries of PostgreSQL,
    once."""

    def __init__(self, call: ToolCall, argument_texts: Mapping[str, str]) -> None:
        self.call = call
        self.argument_texts = argument_texts

    def value(self, argument: Argument[T]) -> T | None:
        """Return the value of an argument, None if it was not given. Raises UserError."""
        text = self.argument_texts.get(argument.name)
        return argument.read(self, text) if text else None

    @property
    def account(self) -> Account:
        return self.call.account

    @cached_property
    def today(self) -> date:
        return clock.today()

    @cached_property
    def sources(self) -> Sources:
        return load_sources(self.account)

    @cached_property
    def source_names(self) -> list[str]:
        """Names of the sources with cost lines, the only useful filters."""
        health = self.sources.health.values()
        return sorted((each.name for each in health if each.last_day is not None), key=str.casefold)

    @cached_property
    def coverage(self) -> Coverage:
        """Days with data: of the given source, else of all sources."""
        coverage, source_name = self.sources.coverage, self.argument_texts.get("cost_source", "").casefold()
        source_ids = {int(key) for key, name in self.sources.names.items() if name.casefold() == source_name}
        return coverage.of_sources(source_ids) if source_ids else coverage

    @cached_property
    def dimensions(self) -> DimensionContext:
        sources = self.sources
        return DimensionContext(self.account, sources.view.product_key, sources.names, sources.manifest)

    @cached_property
    def teams(self) -> Sequence[str]:
        return team_names(self.account)

    @cached_property
    def cost_tags(self) -> Sequence[str]:
        return cost_tag_keys(self.account)

    @cached_property
    def budgets(self) -> Sequence[Budget]:
        return budgets_of(self.account)
