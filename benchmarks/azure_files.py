"""Large exports of Azure's actual cost for the sync benchmark: the rows of a sample, repeated with varied values."""

from __future__ import annotations

import csv
import gzip
import random
from collections.abc import Iterator
from pathlib import Path

SAMPLE = Path(__file__).parents[1] / "tests/data/native/azure/EA_ActualCost_Small.csv"
RESOURCES = 50_000
DAYS = 31


def write_exports(folder: Path, rows: int, files: int) -> Iterator[Path]:
    """Gzip CSV of an Enterprise Agreement, 57 columns: May 2026, 50,000 resources, costs of 15 digits."""
    header, *sample = list(csv.reader(SAMPLE.read_text(encoding="utf-8-sig").splitlines()))
    for number in range(files):
        path = folder / f"part-{number:05d}.csv.gz"
        with gzip.open(path, "wt", compresslevel=6, newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(_vary_rows(header, sample, rows // files, seed=number))
        yield path


def _vary_rows(header: list[str], sample: list[list[str]], rows: int, seed: int) -> Iterator[list[str]]:
    chance = random.Random(seed)
    place = {name: index for index, name in enumerate(header)}
    for number in range(rows):
        row = list(sample[number % len(sample)])
        row[place["BillingPeriodStartDate"]], row[place["BillingPeriodEndDate"]] = "05/01/2026", "05/31/2026"
        row[place["Date"]] = f"05/{chance.randrange(DAYS) + 1:02d}/2026"
        quantity, price = chance.randrange(1, 10**7) / 10**4, chance.randrange(1, 10**8) / 10**8
        row[place["Quantity"]], row[place["EffectivePrice"]] = f"{quantity}", f"{price:.8f}"
        row[place["Cost"]] = f"{quantity * price:.15g}"
        row[place["ResourceId"]] += f"-{chance.randrange(RESOURCES // len(sample))}"
        yield row
