"""Items of other formats (CloudEvents, points of OTLP) as usage events of ours, which `check_batch` then checks: one set of
rules, messages and limits, whatever the format. Pure.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import msgspec

from ingestion.parsing import MAX_EVENTS, Batch, MalformedBody, Rejection, check_batch
from ingestion.services.idempotency import Receipt, Result


@dataclasses.dataclass(frozen=True, slots=True)
class Item:
    """An item as it was sent, as JSON, and the usage events that it becomes, or the problem that it is refused for."""

    raw: bytes
    events: Sequence[bytes] = ()
    problem: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Translation:
    """The checked events of a request, and of which of its items each is."""

    batch: Batch
    items: Sequence[int]
    item_count: int
    reword: Callable[[str], str]

    def result(self, receipt: Receipt) -> Result:
        """The answer by item: an item is rejected when one of its events is, with the first reason."""
        errors: dict[int, str] = {}
        for rejection in _RESULT.decode(receipt.body).errors:
            errors.setdefault(self.items[rejection.index], self.reword(rejection.error))
        rejected = [Rejection(index, error) for index, error in errors.items()]
        return Result(self.item_count - len(rejected), len(rejected), rejected)


_RESULT = msgspec.json.Decoder(Result)


def check_items(items: Sequence[Item], reword: Callable[[str], str]) -> Translation:
    """The usage events of all items, checked. An item with one wrong event is rejected whole.

    `reword` gives a message about a field of ours the name that the sender's format has for it, once or twice. Raises MalformedBody
    when the items have more than 1,000 events.
    """
    translation = _check(items, reword)
    problems = {
        translation.items[one.index]: reword(one.error)
        for one in reversed(translation.batch.rejected)
        if not items[translation.items[one.index]].problem
    }
    if problems:
        items = [
            Item(item.raw, problem=problems[at]) if at in problems else item for at, item in enumerate(items)
        ]
        translation = _check(items, reword)
    translation.batch.rejected = [
        Rejection(one.index, items[translation.items[one.index]].problem)
        for one in translation.batch.rejected
    ]
    return translation


def _check(items: Sequence[Item], reword: Callable[[str], str]) -> Translation:
    if sum(len(item.events) or 1 for item in items) > MAX_EVENTS:
        message = f"Send at most {MAX_EVENTS:,} quantities in one request."
        raise MalformedBody("too_many_events", message)
    events, of_items = list[bytes](), list[int]()
    for at, item in enumerate(items):
        # Never a valid event, whatever was sent, and what the page of rejected events shows of it.
        lines = [b'{"rejected":%b}' % item.raw] if item.problem else item.events
        events.extend(lines)
        of_items.extend([at] * len(lines))
    return Translation(check_batch(b'{"events":[%b]}' % b",".join(events)), of_items, len(items), reword)
