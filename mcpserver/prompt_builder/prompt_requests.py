"""Checks of a client's request that all prompts share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finops.lib.errors import UserError, nearest_choices
from finops.lib.renamed_fields import new_name
from mcpserver.coerce import is_empty
from mcpserver.context import ToolCall
from mcpserver.jsonrpc import Code, RpcError
from mcpserver.registry import Completion, Prompt, PromptArgument, ToolRegistry

MAX_VALUE = 300
"""Maximum characters of an argument: the length of the name of a dimension or a value."""

_MAX_NAME_SHOWN = 64


def find_prompt(registry: ToolRegistry, name: str) -> Prompt:
    """Return the prompt with this name. Raises RpcError with the nearest names."""
    prompt = registry.get_prompt(name)
    if prompt is None:
        valid_names = [each.name for each in registry.prompts()]
        raise _invalid(f"Unknown prompt: {_unknown(name, valid_names)} prompts/list has them all.")
    return prompt


def render(prompt: Prompt, argument_texts: Mapping[str, Any], call: ToolCall) -> str:
    """Return the prompt's text. Raises RpcError that names the invalid argument and the valid values."""
    values = _values(prompt, argument_texts)
    missing = [each.name for each in prompt.arguments if each.required and each.name not in values]
    if missing:
        raise _invalid(f"{prompt.name} needs {', '.join(missing)}.")
    try:
        return prompt.render(call, values)
    except UserError as problem:
        raise _invalid(problem.message) from problem


def complete(
    prompt: Prompt, name: str, typed: str, argument_texts: Mapping[str, Any], call: ToolCall
) -> Completion:
    """Return values that match the typed text. Raises RpcError for an argument that the prompt does not have. Another
    argument may be invalid while a person types: the result is then empty."""
    argument = _argument(prompt, name)
    if argument.complete is None or len(typed) > MAX_VALUE:
        return Completion()
    valid_names = {each.name for each in prompt.arguments}
    other_arguments = {
        key: text.strip() for key, text in argument_texts.items() if key in valid_names and _is_value(text)
    }
    try:
        return argument.complete(
            call, typed.strip(), {key: text for key, text in other_arguments.items() if text}
        )
    except UserError:
        return Completion()


def _values(prompt: Prompt, argument_texts: Mapping[str, Any]) -> dict[str, str]:
    """Return the given arguments without surrounding spaces; forms send empty fields as null or empty text."""
    values = {}
    for key, value in argument_texts.items():
        _argument(prompt, key)
        if is_empty(value):
            continue
        if not isinstance(value, str):
            raise _invalid(f"{key} of {prompt.name} must be a string.")
        if not _is_value(value):
            raise _invalid(f"{key} of {prompt.name} must have at most {MAX_VALUE} characters and no NUL.")
        values[key] = value.strip()
    return values


def _is_value(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_VALUE and "\x00" not in value


def _argument(prompt: Prompt, name: str) -> PromptArgument:
    for argument in prompt.arguments:
        if argument.name == name:
            return argument
    valid_names = [each.name for each in prompt.arguments]
    takes = f"Arguments: {', '.join(valid_names)}." if valid_names else "It takes no arguments."
    current = new_name(name, valid_names)
    unknown = f'{name}. It is called "{current}".' if current else _unknown(name, valid_names)
    raise _invalid(f"{prompt.name} has no argument {unknown} {takes}")


def _unknown(name: str, valid_names: list[str]) -> str:
    close = nearest_choices(name[:_MAX_NAME_SHOWN], valid_names)
    return f"{name[:_MAX_NAME_SHOWN]}.{' Nearest: ' + ', '.join(close) + '.' if close else ''}"


def _invalid(message: str) -> RpcError:
    return RpcError(Code.INVALID_PARAMS, message)
