"""Puts a prompt into the registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcpserver.context import ToolCall
from mcpserver.execution import inside
from mcpserver.prompting.asked import Argument, Asked
from mcpserver.prompting.script import Script, rendered
from mcpserver.registry import Completion, Prompt, PromptArgument, registry

Writer = Callable[[Asked], Script]


def prompt(
    *, name: str, title: str, description: str, arguments: Sequence[Argument[Any]]
) -> Callable[[Writer], Writer]:
    """Registers the function below as a prompt and returns it unchanged. It runs in the account's scope, READ ONLY."""

    def register(writer: Writer) -> Writer:
        def render(call: ToolCall, given: Mapping[str, str]) -> str:
            with inside(call, read_only=True):
                asked = Asked(call, given)
                return rendered(writer(asked), asked, registry)

        registry.add_prompt(
            Prompt(
                name=name,
                title=title,
                description=description,
                render=render,
                arguments=tuple(_registered(each) for each in arguments),
            )
        )
        return writer

    return register


def _registered(argument: Argument[Any]) -> PromptArgument:
    def complete(call: ToolCall, typed: str, given: Mapping[str, str]) -> Completion:
        with inside(call, read_only=True):
            return argument.complete(Asked(call, given), typed)

    return PromptArgument(
        name=argument.name, title=argument.title, description=argument.description, complete=complete
    )
