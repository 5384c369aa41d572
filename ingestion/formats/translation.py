"""Items of other formats (CloudEvents, OTLP points) as usage events, checked by `check_batch`: the same rules,
messages and limits for every format. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from itertools import chain

import msgspec

from ingestion.events import MAX_EVENTS
from ingestion.parsing import Batch, MalformedBody, Rejection, check_batch
from ingestion.services.idempotency import Receipt, Result


@dataclasses.dataclass(frozen=True, slots=True)
class Item:
    """An item as sent, as JSON, and its usage events, or the reason why it is rejected. `is_untimed`: their time is that
    of receipt. `ignored_fields` are not stored."""

    raw: bytes
    events: Sequence[bytes] = ()
    problem: str = ""
    is_untimed: bool = False
    ignored_fields: Collection[str] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Translation:
    """The checked events of a request, and the item of each."""

    batch: Batch
    items: Sequence[int]
    item_count: int
    reword: Callable[[str], str]

    def result(self, receipt: Receipt) -> Result:
        """Return the result by item: an item is rejected if one of its events is, with the first reason."""
        errors: dict[int, str] = {}
        result = _RESULT.decode(receipt.body)
        for rejection in result.errors:
            errors.setdefault(self.items[rejection.index], self.reword(rejection.error))
        rejected = [Rejection(index, error) for index, error in errors.items()]
        return Result(self.item_count - len(rejected), len(rejected), rejected, result.warnings)

    def count_without_time(self, result: Result) -> int:
        """Return the number of accepted items that have the time of receipt."""
        without_time = {self.items[at] for at in self.batch.untimed}
        return len(without_time.difference(rejection.index for rejection in result.errors))


_RESULT = msgspec.json.Decoder(Result)


def check_items(items: Sequence[Item], reword: Callable[[str], str]) -> Translation:
    """Check the usage events of all items. An item with one invalid event is rejected as a whole.

    `reword` replaces a field name of ours in a message by the sender's name for it. Raises MalformedBody if the items
    have more than 1,000 events.
    """
    translation = _check(items, reword)
    problems = {
        translation.items[rejection.index]: reword(rejection.error)
        for rejection in reversed(translation.batch.rejected)
        if not items[translation.items[rejection.index]].problem
    }
    if problems:
        items = [
            Item(item.raw, problem=problems[at]) if at in problems else item for at, item in enumerate(items)
        ]
        translation = _check(items, reword)
    translation.batch.rejected = [
        Rejection(rejection.index, items[translation.items[rejection.index]].problem)
        for rejection in translation.batch.rejected
    ]
    untimed = (at for at, item in enumerate(translation.items) if items[item].is_untimed)
    translation.batch.untimed = frozenset(untimed)
    for field in chain.from_iterable(item.ignored_fields for item in items if not item.problem):
        translation.batch.ignored.add(field)
    return translation


def _check(items: Sequence[Item], reword: Callable[[str], str]) -> Translation:
    if sum(len(item.events) or 1 for item in items) > MAX_EVENTS:
        message = f"Send at most {MAX_EVENTS:,} quantities in one request."
        raise MalformedBody("too_many_events", message)
    events, of_items = list[bytes](), list[int]()
    for at, item in enumerate(items):
        # An invalid event, whatever was sent; the page of rejected events shows it.
        lines = [b'{"rejected":%b}' % item.raw] if item.problem else item.events
        events.extend(lines)
        of_items.extend([at] * len(lines))
    return Translation(check_batch(b'{"events":[%b]}' % b",".join(events)), of_items, len(items), reword)
