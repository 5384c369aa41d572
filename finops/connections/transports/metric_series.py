"""Usage in a monitoring system, as time series: one for each customer, a value for each whole day or hour (UTC).

A sync compares this month and the one before; older months are read once. A sample has the time of the start of its
day or hour. A day or hour that has not ended is read by a later sync.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Final, Literal

import msgspec

from finops.connections.checks import check_list
from finops.connections.connector import BillMonth, C, CheckFinding, Connector, Contents, Fetch, SourceError
from finops.connections.transports.http import HttpApi
from finops.connections.transports.json_lines import usage_files
from finops.connections.transports.pages import digest_of
from finops.connections.transports.recent_months import recent_months
from finops.costs.focus.normalise import FocusFile
from finops.lib import clock
from finops.lib.periods import month_end

SETTLED: Final = digest_of(["settled"])
STEPS: Final = {"day": timedelta(days=1), "hour": timedelta(hours=1)}

MetricName = Annotated[
    str,
    msgspec.Meta(
        title="Metric",
        description="Its name in usage, such as requests.",
        examples=["requests"],
        min_length=1,
        max_length=100,
    ),
]
Step = Annotated[Literal["day", "hour"], msgspec.Meta(title="Step", description="One value each.")]
IsGauge = Annotated[
    bool, msgspec.Meta(title="Gauge", description="The last value counts, not the sum: seats, storage.")
]


@dataclass(frozen=True, slots=True)
class MetricSeries:
    """A series. `samples` are pairs of the start of a whole step and its value."""

    labels: Mapping[str, str]
    samples: Sequence[tuple[datetime, Decimal]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesSettings:
    """Settings of a config's series. `label` is the label that names the customer, `label_field` its field in the
    config, and `label_fix` a sentence on how to keep the label in the series."""

    metric: str
    step: timedelta
    is_gauge: bool
    label: str
    label_field: str
    label_fix: str


@dataclass(frozen=True, slots=True)
class SeriesRequest:
    """Days that are read, both inclusive: for a listing, a fetch, or a check while a person waits."""

    first: date
    last: date
    step: timedelta
    fetch: Fetch | None = None
    is_check: bool = False

    @property
    def start(self) -> datetime:
        return datetime(self.first.year, self.first.month, self.first.day, tzinfo=UTC)

    @property
    def end(self) -> datetime:
        """End of the last step that has ended (exclusive)."""
        midnight = datetime(self.last.year, self.last.month, self.last.day, tzinfo=UTC) + STEPS["day"]
        now = clock.now()
        return min(midnight, now - (now - self.start) % self.step)

    def api(self, api: HttpApi) -> HttpApi:
        """Return the API with the retries and time limits of the request."""
        if self.is_check:
            return api.for_check()
        return api.for_fetch(self.fetch) if self.fetch else api

    def windows(self, length: timedelta) -> Iterator[tuple[datetime, datetime]]:
        """Yield the time in spans of at most this length, with exclusive ends."""
        start = self.start
        while start < self.end:
            end = min(start + length, self.end)
            yield start, end
            start = end


class SeriesConnector(Connector[C]):
    """A monitoring system whose series name the customer by a label."""

    contents = Contents.USAGE
    changes_while_read = True
    label_noun: str
    """The vendor's word for a label: "label" or "tag"."""

    @abstractmethod
    def series(self, config: C, request: SeriesRequest) -> Iterator[MetricSeries]:
        """Yield the series of the requested days. One series may come in several parts. Raises SourceError,
        AccessError, SourceUnavailable."""

    @abstractmethod
    def settings(self, config: C) -> SeriesSettings: ...

    def gauges(self, config: C) -> frozenset[str]:
        settings = self.settings(config)
        return frozenset({settings.metric}) if settings.is_gauge else frozenset()

    def check(self, config: C) -> list[CheckFinding]:
        with check_list() as checks:
            day, settings = clock.today() - timedelta(days=1), self.settings(config)
            request = SeriesRequest(day, day, settings.step, is_check=True)
            series = checks.attempt("Run the query for yesterday", lambda: list(self.series(config, request)))
            checks.attempt(
                f"Find the {self.label_noun} {settings.label}",
                lambda: [self._customer_of(config, each) for each in series],
            )
            checks.findings.append(CheckFinding(self._first_values(config, series), True))
        return checks.findings

    def _first_values(self, config: C, series: Sequence[MetricSeries]) -> str:
        values = [
            f"{self._customer_of(config, each)}, {each.samples[-1][1]:f}" for each in series if each.samples
        ]
        return f"Read the first values: {'; '.join(values[:3])}" if values else "Yesterday has no values"

    def months(self, config: C) -> list[BillMonth]:
        def fingerprint_of(month: date) -> str:
            series = self.series(config, self._request(config, month))
            return digest_of(f"{sorted(each.labels.items())} {each.samples}" for each in series)

        return recent_months(fingerprint_of, settled=SETTLED)

    def fetch(self, config: C, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        settings = self.settings(config)
        with usage_files(fetch, month.month) as files:
            for each in self.series(config, self._request(config, month.month, fetch)):
                customer = self._customer_of(config, each)
                dimensions = {
                    name: value for name, value in each.labels.items() if value and name != settings.label
                }
                for moment, quantity in each.samples:
                    files.add(
                        customer=customer,
                        metric=settings.metric,
                        quantity=quantity,
                        moment=moment,
                        dimensions=dimensions or None,
                    )
        return files.files()

    def _request(self, config: C, month: date, fetch: Fetch | None = None) -> SeriesRequest:
        last = min(month_end(month), clock.today())
        return SeriesRequest(month, last, self.settings(config).step, fetch)

    def _customer_of(self, config: C, series: MetricSeries) -> str:
        settings = self.settings(config)
        if customer := series.labels.get(settings.label):
            return customer
        raise SourceError(
            f"A series has no {self.label_noun} {settings.label}. {settings.label_fix}",
            field=settings.label_field,
        )
