"""Resources of the account: glossary, data health, and budgets, dashboards and cost tags as configuration."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from accounts.queries import glossary
from finops.allocation.rules.yaml import write_yaml
from finops.configuration.kind import Body
from finops.configuration.services import VERSION, configuration_rows
from finops.help.terms import terms_by_topic
from finops.lib.errors import unknown_value
from finops.lib.sentences import escape_hidden
from mcpserver.context import ToolCall
from mcpserver.resources.resource import JSON, MARKDOWN, YAML, McpResource, ResourceTemplate
from mcpserver.results import MAX_ANSWER_BYTES, encode_to_size
from mcpserver.tools.health import GetDataHealthArguments, get_data_health


def _read_glossary(call: ToolCall) -> str:
    """Return the glossary. The account's own terms come first; they take precedence over the built-in terms."""
    own = [f"- **{row.term}**: {row.meaning}" for row in glossary(call.account)]
    parts = [f"# Glossary of {call.account.name}"]
    if own:
        parts += ["## Terms of this account", "\n".join(own)]
    for topic, terms in terms_by_topic().items():
        parts += [f"## {topic}", "\n".join(f"- **{term.name}**: {term.text}" for _anchor, term in terms)]
    return _visible("\n\n".join(parts) + "\n")


def _read_data_health(call: ToolCall) -> str:
    answer = get_data_health(call, GetDataHealthArguments())
    if first := call.limit_sentence("getDataHealth"):
        answer = msgspec.structs.replace(answer, summary=f"{first} {answer.summary}")
    return encode_to_size(answer, MAX_ANSWER_BYTES).decode()


RESOURCES = (
    McpResource(
        uri="finops://glossary",
        name="glossary",
        title="Glossary",
        description="Terms of this account, as its admins define them, and of the console.",
        mime_type=MARKDOWN,
        read=_read_glossary,
    ),
    McpResource(
        uri="finops://data-health",
        name="data-health",
        title="Data health",
        description="Each source: state, complete days, gaps, late and failed imports. As getDataHealth answers.",
        mime_type=JSON,
        read=_read_data_health,
    ),
)


def _template(kind: str, *, name: str, argument: str, title: str, description: str) -> ResourceTemplate:
    """Return a template for the rows of one kind of configuration as code; each row is a file for plan and apply."""

    def names(call: ToolCall) -> Sequence[str]:
        return list(configuration_rows(call.account, kind))

    def read(call: ToolCall, name_in_uri: str) -> str:
        rows = configuration_rows(call.account, kind)
        row = next((each for each in rows if each.casefold() == name_in_uri.casefold()), None)
        if row is None:
            raise unknown_value(argument, name_in_uri, list(rows), show=str)
        return _file(kind, rows[row])

    return ResourceTemplate(
        prefix=f"finops://{kind.replace('_', '-')}/",
        argument=argument,
        name=name,
        title=title,
        description=f"{description} A file for configuration as code.",
        mime_type=YAML,
        read=read,
        names=names,
    )


def _file(kind: str, body: Body) -> str:
    return _visible(write_yaml({"version": VERSION, kind: [body]}))


def _visible(text: str) -> str:
    """Return text from people and bills with its hidden characters escaped; line breaks stay."""
    return "\n".join(map(escape_hidden, text.split("\n")))


TEMPLATES = (
    _template("budgets", name="budget", argument="name", title="Budget", description="A budget as YAML."),
    _template(
        "cost_tags",
        name="cost-tag",
        argument="key",
        title="Cost tag",
        description="A cost tag with its rules as YAML.",
    ),
    _template(
        "dashboards",
        name="dashboard",
        argument="name",
        title="Dashboard",
        description="A shared dashboard with its widgets as YAML.",
    ),
)
