"""Post JSON and interpret the receiver's response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from django.conf import settings

from finops.alerts.channel_targets import Target, redact_secrets
from finops.alerts.senders.outcome import MAX_ANSWER, DeliveryOutcome, one_line
from finops.lib.errors import INVALID_JSON
from finops.lib.outbound import DeliveryTimeout, Response, UrlRefusal, post, retry_after
from finops.lib.sentences import truncate

_AGAIN: Final = frozenset({408, 409, 425, 429})
"""Statuses to retry, besides 5xx. Other 4xx mean that the request itself is wrong, which a retry cannot fix."""


_THROTTLED: Final = frozenset({-1, 11232, 45009, 130101})
"""Codes in the body to retry: a busy server, and too many messages to Feishu, WeCom and DingTalk."""


def post_json(url: str, value: Any, target: Target, *, is_bot: bool = False) -> DeliveryOutcome:
    return post_bytes(url, msgspec.json.encode(value), {}, target, is_bot=is_bot)


def post_bytes(
    url: str, body: bytes, headers: Mapping[str, str], target: Target, *, is_bot: bool = False
) -> DeliveryOutcome:
    """Post the body. `is_bot`: the receiver may be a bot that returns 200 with its error as JSON."""
    all_headers = {"Content-Type": "application/json; charset=utf-8", **headers}
    try:
        answer = post(url, body=body, headers=all_headers, seconds=settings.ALERT_SEND_SECONDS)
    except DeliveryTimeout as error:
        return DeliveryOutcome(verdict="again", answer=redact_secrets(str(error), target))
    except UrlRefusal as error:
        return DeliveryOutcome(verdict="failed", answer=redact_secrets(error.message, target))
    outcome = outcome_of(answer, target)
    if is_bot and outcome.verdict == "delivered" and (problem := _bot_error(answer.body)) is not None:
        is_temporary = problem in _THROTTLED or str(problem).replace("_", "") == "ratelimited"
        return msgspec.structs.replace(outcome, verdict="again" if is_temporary else "failed")
    return outcome


def outcome_of(answer: Response, target: Target) -> DeliveryOutcome:
    answer_text = truncate(redact_secrets(one_line(answer.body.decode(errors="replace")), target), MAX_ANSWER)
    status = answer.status
    if 200 <= status < 300:
        return DeliveryOutcome(verdict="delivered", status_code=status, answer=answer_text)
    if status in _AGAIN or status >= 500:
        return DeliveryOutcome(
            verdict="again", status_code=status, answer=answer_text, wait=retry_after(answer.headers)
        )
    if 300 <= status < 400:
        answer_text = "The receiver redirects, and redirects are not followed. Enter the target URL."
    elif status == 410:
        answer_text = "The receiver returned 410 Gone: the address no longer exists."
    return DeliveryOutcome(verdict="failed", status_code=status, answer=answer_text)


def _bot_error(body: bytes) -> int | str | None:
    """Return the error in a bot's body: `errcode` of DingTalk and WeCom, `code` with `msg` of Feishu, `error` beside
    `"ok": false` of Slack's API and alike. A `code` of 200 to 299 is a status of success."""
    try:
        answer = msgspec.json.decode(body)
    except INVALID_JSON:
        return None
    match answer:
        case {"errcode": int(code)} if code != 0:
            return code
        case {"code": int(code), "msg": str()} if code != 0 and not 200 <= code < 300:
            return code
        case {"ok": False, **others}:
            return str(others.get("error", ""))
    return None
