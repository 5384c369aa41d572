"""The official suite's own prompts beside ours, on a path of their own of the live server.

The suite asks for prompts of fixed names; with these it can try `prompts/get` and `completion/complete` on the endpoint's own
code. All else at this path is the product's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from django.http import HttpRequest, HttpResponse

from mcpserver.context import ToolCall
from mcpserver.method_context import Server
from mcpserver.registry import Completion, Prompt, PromptArgument, ToolRegistry, registry
from mcpserver.server import make_server
from mcpserver.views import make_endpoint

PATH = "/api/mcp-with-fixtures"


def add_suite_fixtures(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    endpoint = make_endpoint(_server)
    return lambda request: endpoint(request) if request.path_info == PATH else get_response(request)


@functools.cache
def _server() -> Server:
    both = ToolRegistry()
    for tool in registry:
        both.add(tool)
    for prompt in (*registry.prompts(), *_prompts()):
        both.add_prompt(prompt)
    both.freeze()
    return make_server(both)


def _prompts() -> tuple[Prompt, ...]:
    first, second = (
        PromptArgument(name=name, description="A test argument.", required=True, complete=_complete)
        for name in ("arg1", "arg2")
    )
    return (
        Prompt(
            name="test_simple_prompt",
            title="Simple",
            description="A simple prompt.",
            render=lambda _call, _given: "This is a simple prompt for testing.",
        ),
        Prompt(
            name="test_prompt_with_arguments",
            title="With arguments",
            description="A prompt with two arguments.",
            render=lambda _call, given: (
                f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"
            ),
            arguments=(first, second),
        ),
    )


def _complete(_call: ToolCall, typed: str, _given: Mapping[str, str]) -> Completion:
    matches = [each for each in ("paris", "park", "party", "test") if each.startswith(typed)]
    return Completion(values=matches, total=len(matches))
