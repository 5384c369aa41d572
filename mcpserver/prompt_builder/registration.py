"""Registers prompts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from finops.cost_access.reach import PROMPTS, instead_of
from finops.lib.cost_access import LimitedCostAccess
from mcpserver.context import ToolCall
from mcpserver.execution import call_transaction
from mcpserver.prompt_builder.prompt_context import Argument, PromptContext
from mcpserver.prompt_builder.script import Script, render_script
from mcpserver.registry import Completion, Prompt, PromptArgument, registry

Writer = Callable[[PromptContext], Script]


def prompt(
    *, name: str, title: str, description: str, arguments: Sequence[Argument[Any]]
) -> Callable[[Writer], Writer]:
    """Register the decorated function as a prompt and return it unchanged. It runs in the account's scope, READ ONLY."""

    def register(writer: Writer) -> Writer:
        def render(call: ToolCall, argument_texts: Mapping[str, str]) -> str:
            if call.cost_access_limits and name not in PROMPTS:
                raise LimitedCostAccess(instead_of(name))
            with call_transaction(call, read_only=True, is_within_limit=name in PROMPTS):
                ctx = PromptContext(call, argument_texts)
                return render_script(writer(ctx), ctx, registry)

        registry.add_prompt(
            Prompt(
                name=name,
                title=title,
                description=description,
                render=render,
                arguments=tuple(_registry_argument(each, name) for each in arguments),
            )
        )
        return writer

    return register


def _registry_argument(argument: Argument[Any], of_prompt: str) -> PromptArgument:
    def complete(call: ToolCall, typed: str, argument_texts: Mapping[str, str]) -> Completion:
        with call_transaction(call, read_only=True, is_within_limit=of_prompt in PROMPTS):
            return argument.complete(PromptContext(call, argument_texts), typed)

    return PromptArgument(
        name=argument.name, title=argument.title, description=argument.description, complete=complete
    )
