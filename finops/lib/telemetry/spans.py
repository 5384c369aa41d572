"""Spans for OpenTelemetry: requests, tasks, statements, queries of the lake.

Off until `finops.telemetry.traces` sets a tracer: before that `span` costs less than a microsecond and nothing is imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

_tracers: Final[list[Any]] = []

TRACE_PARENT: Final = "traceparent"
"""W3C Trace Context: header of requests and of messages."""


def use(tracer: Any | None) -> None:
    """Use this tracer for spans from now on; None: no spans."""
    _tracers[:] = [] if tracer is None else [tracer]


def are_on() -> bool:
    return bool(_tracers)


@contextmanager
def span(name: str, kind: str = "INTERNAL", *, parent: object = None, **attributes: str) -> Iterator[Any]:
    """Record the block as a span with a name of few values; yields the span, None while tracing is off. `parent` is the
    traceparent value of another program. Attributes have `__` for a dot; never text that people typed."""
    if not _tracers:
        yield None
        return
    from opentelemetry import propagate
    from opentelemetry.trace import SpanKind, StatusCode

    around = propagate.extract({TRACE_PARENT: parent}) if isinstance(parent, str) else None
    texts = {key.replace("__", "."): value for key, value in attributes.items() if value}
    options: dict[str, Any] = {"context": around, "kind": SpanKind[kind], "attributes": texts}
    # Messages of exceptions contain values of rows: only the type is sent.
    options |= {"record_exception": False, "set_status_on_exception": False}
    with _tracers[0].start_as_current_span(name, **options) as current:
        try:
            yield current
        except BaseException as error:
            current.set_attribute("error.type", type(error).__name__)
            current.set_status(StatusCode.ERROR)
            raise


def carry(headers: dict[str, Any]) -> None:
    """Put the current span into the headers of a message."""
    if _tracers:
        from opentelemetry import propagate

        propagate.inject(headers)


def fields() -> Mapping[str, str]:
    """`trace_id` and `span_id` of the current span, for logs; empty without one."""
    if not _tracers:
        return {}
    from opentelemetry import trace

    span_context = trace.get_current_span().get_span_context()
    if not span_context.is_valid:
        return {}
    return {
        "trace_id": trace.format_trace_id(span_context.trace_id),
        "span_id": trace.format_span_id(span_context.span_id),
    }
