"""A scrape of /metrics, as by Prometheus."""

from __future__ import annotations

from urllib.request import Request, urlopen

from prometheus_client.parser import text_string_to_metric_families

TOKEN = "a-token-of-the-tests-for-metrics"
BEARER = {"authorization": f"Bearer {TOKEN}"}


class Scrape:
    def __init__(self, text: str) -> None:
        self.samples = {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def value(self, name: str, **labels: str) -> float:
        """0 for what was never counted, as `increase()` has it."""
        return self.samples.get((name, tuple(sorted(labels.items()))), 0.0)

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self.samples}

    @property
    def label_values(self) -> set[str]:
        return {value for _, labels in self.samples for _, value in labels}


def scrape_worker(port: int, headers: dict[str, str] = BEARER, path: str = "/metrics") -> Scrape:
    with urlopen(Request(f"http://127.0.0.1:{port}{path}", headers=headers), timeout=30) as answer:
        return Scrape(answer.read().decode())


def answers(port: int) -> bool:
    try:
        return bool(scrape_worker(port).names)
    except OSError:
        return False
