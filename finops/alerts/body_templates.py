"""The body of a webhook as a channel's own JSON, for receivers with a form of their own, such as Google Chat and Discord.

Texts of the JSON may have placeholders: `{"content": "{{text}}"}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from finops.alerts.messages import Message
from finops.lib.errors import UserError
from finops.lib.sentences import truncate

MAX_TEMPLATE: Final = 5_000
MAX_TEXT: Final = 1_900
"""Discord refuses a content of more than 2,000 characters, Google Chat a text of more than 4,096."""
PLACEHOLDERS: Final = ("text", "title", "summary", "severity", "kind", "url", "dedup_key", "account")
EXAMPLES: Final = {
    "Google Chat": '{"text": "{{text}}"}',
    "Discord": '{"content": "{{text}}", "allowed_mentions": {"parse": []}}',
}
_PLACEHOLDER: Final = re.compile(r"\{\{(.*?)\}\}")
# Google Chat calls people for <users/all>, Discord for <@1>, <@&1> and the words.
_CALLS: Final = re.compile(r"<(?=[@#!&u])|@(?=(?:all|channel|everyone|here)\b)", re.IGNORECASE)


def check_template(template: str) -> None:
    """Raises UserError for a template that is no JSON object, or has another placeholder."""
    if not template:
        return
    if len(template) > MAX_TEMPLATE:
        raise UserError(f"template: at most {MAX_TEMPLATE:,} characters.", field="template")
    try:
        value = msgspec.json.decode(template)
    except msgspec.DecodeError as error:
        raise UserError(f"template: not valid JSON: {error}.", field="template") from error
    if not isinstance(value, dict):
        raise UserError("template: write a JSON object.", field="template")
    _fill(value, _check_name)


def _check_name(name: str) -> str:
    if name not in PLACEHOLDERS:
        names = ", ".join(PLACEHOLDERS)
        raise UserError(f"template: {{{{{name[:80]}}}}} is none of {names}.", field="template")
    return name


def fill_template(template: str, message: Message, account: str) -> dict[str, Any]:
    """Return the body. Names of people and bills in the texts call nobody."""
    lines = [message.title, message.summary, *(f"{fact.label}: {fact.value}" for fact in message.facts)]
    text = truncate("\n".join(line for line in lines if line.strip()), MAX_TEXT - len(message.url) - 1)
    values = {
        "text": f"{text}\n{message.url}",
        "title": message.title,
        "summary": message.summary,
        "severity": message.severity,
        "kind": message.kind,
        "url": message.url,
        "dedup_key": message.dedup_key,
        "account": account,
    }
    plain = {name: _CALLS.sub("\\g<0>\u200b", value) for name, value in values.items()}
    body: dict[str, Any] = _fill(msgspec.json.decode(template), plain.__getitem__)
    return body


def _fill(value: Any, text_of: Callable[[str], str]) -> Any:
    match value:
        case str():
            return _PLACEHOLDER.sub(lambda match: text_of(match[1].strip()), value)
        case dict():
            return {_fill(key, text_of): _fill(each, text_of) for key, each in value.items()}
        case list():
            return [_fill(each, text_of) for each in value]
        case _:
            return value
