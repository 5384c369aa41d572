"""Back-tests of forecasts on the demo company, on ramps and on public series: the product's model, naive models and,
if installed, the libraries.

FORECAST_SERIES names a folder of CSV files `day,value` to test in addition to the demo company, FORECAST_PEERS a
Python that has statsforecast and statsmodels.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from statistics import fmean
from time import process_time
from typing import Any

from benchmarks.forecast_ramps import SETS, ramps
from benchmarks.forecast_series import Case, Days, cases_of, demo_series, public_series, second_series
from benchmarks.table import Row
from finops.lib.forecasting import Forecast, forecast
from finops.lib.periods import DateRange

DAYS = 90
BY_DAY = "each of 30 days"
SECOND = "public, held out second"
MONTHS_TRIED = {"demo": 6, "public": 24, SECOND: 24}
LEVEL = 0.8
PEERS = "FORECAST_PEERS"
HORIZONS = ("month end", "30 days", "90 days")

Means = Sequence[float]


def measure() -> list[Row]:
    rows: list[Row] = []
    held_out_rows: list[Row] = []
    sets: dict[str, Mapping[str, Days]] = {"demo": demo_series(), "public": public_series()}
    sets[SECOND] = second_series()
    sets |= {f"ramps, {name}": ramps(name) for name in SETS}
    for name, series in sets.items():
        cases = list(cases_of(series, months=MONTHS_TRIED.get(name, 4)))
        if not cases:
            continue
        own, cpu, covered = _own(cases)
        forecasts = {
            "last day": ([_repeat_last_week(case, 1) for case in cases], 0.0),
            "last week (seasonal naive)": ([_repeat_last_week(case, 7) for case in cases], 0.0),
            "mean of 28 days": ([_mean(case) for case in cases], 0.0),
            "finops.lib.forecasting": (own, cpu),
            **_peers(cases),
        }
        seasonal = _errors(cases, forecasts["last week (seasonal naive)"][0])
        rows += [
            _row(name, model, _errors(cases, means), seasonal, 1000 * cpu / len(cases))
            for model, (means, cpu) in forecasts.items()
        ]
        held_out_rows += [
            {"series": f"{name}, {len(series)}", "horizon": key, **value} for key, value in covered.items()
        ]
    return [*rows, *held_out_rows, *_import_rows()]


def _own(cases: Sequence[Case]) -> tuple[list[Means], float, dict[str, dict[str, float]]]:
    """Return the product's forecasts with their back-tests and ranges, CPU seconds, and the coverage of ranges, by
    horizon."""
    hits: dict[str, list[bool]] = {key: [] for key in (*HORIZONS, BY_DAY)}
    widths: dict[str, list[float]] = {key: [] for key in (*HORIZONS, BY_DAY)}
    means: list[Means] = []
    started_at = process_time()
    for case in cases:
        start = max(case.history) + timedelta(days=1)
        forecast_result = forecast(
            case.history, DateRange(start, start + timedelta(days=DAYS - 1)), level=LEVEL
        )
        assert isinstance(forecast_result, Forecast)
        means.append([float(mean) for mean in forecast_result.means])
        days = (
            [DateRange(day.day, day.day) for day in forecast_result.daily[:30]]
            if "30 days" in case.horizons
            else []
        )
        for key, span in [*case.horizons.items(), *((BY_DAY, day) for day in days)]:
            band, actual = forecast_result.total(span), _actual(case, span)
            slack = 1e-6 * abs(actual)
            hits[key].append(float(band.lower) - slack <= actual <= float(band.upper) + slack)
            widths[key].append(float(band.upper - band.lower) / abs(actual) if actual else 0.0)
    cpu = process_time() - started_at
    return (
        means,
        cpu,
        {
            key: {
                "cases": len(hits[key]),
                "within the 80% range": round(fmean(hits[key]), 3),
                "median width of the band ÷ total": round(sorted(widths[key])[len(widths[key]) // 2], 3),
            }
            for key in hits
            if hits[key]
        },
    )


def _repeat_last_week(case: Case, days: int) -> Means:
    last = list(case.history.values())[-days:]
    return [last[index % days] for index in range(DAYS)]


def _mean(case: Case) -> Means:
    return [fmean(list(case.history.values())[-28:])] * DAYS


def _peers(cases: Sequence[Case]) -> dict[str, tuple[list[Means], float]]:
    by_model: dict[str, tuple[list[Means], float]] = {}
    for library in ("statsforecast", "statsmodels"):
        for name, each in _query_library(library, [_fill_gaps(case) for case in cases]).items():
            by_model[name] = (each["forecasts"], each["cpu_seconds"])
    return by_model


def _query_library(library: str, series: Sequence[Sequence[float]]) -> dict[str, dict[str, Any]]:
    python = os.environ.get(PEERS)
    if not python:
        return {}
    script = Path(__file__).with_name("forecast_peers.py")
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    answer = subprocess.run(
        [python, str(script), library],
        input=json.dumps(series),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **threads},
    )
    answers: dict[str, dict[str, Any]] = json.loads(answer.stdout)
    return answers


def _fill_gaps(case: Case) -> list[float]:
    """Fill gaps with the previous day, because the libraries do not accept gaps."""
    day, last, values = min(case.history), 0.0, []
    while day <= max(case.history):
        last = case.history.get(day, last)
        values.append(last)
        day += timedelta(days=1)
    return values


def _actual(case: Case, span: DateRange) -> float:
    return sum(case.future[span.start + timedelta(days=index)] for index in range(span.days))


def _errors(cases: Sequence[Case], forecasts: Sequence[Means]) -> dict[str, dict[str, float]]:
    """Return by horizon the weighted error (WAPE) of totals and of days: absolute errors ÷ absolute actual values."""
    return {key: _wape(cases, forecasts, key) for key in HORIZONS}


def _wape(cases: Sequence[Case], forecasts: Sequence[Means], key: str) -> dict[str, float]:
    total = whole = day = days = 0.0
    for case, means in zip(cases, forecasts, strict=True):
        if key in case.horizons:
            span = case.horizons[key]
            actuals = [case.future[span.start + timedelta(days=index)] for index in range(span.days)]
            total += abs(sum(means[: span.days]) - sum(actuals))
            whole += abs(sum(actuals))
            day += sum(abs(mean - value) for mean, value in zip(means, actuals, strict=False))
            days += sum(abs(value) for value in actuals)
    return {"total": total / whole, "day": day / days}


def _row(
    series: str,
    model: str,
    errors: Mapping[str, Mapping[str, float]],
    seasonal: Mapping[str, Mapping[str, float]],
    cpu_ms: float,
) -> Row:
    row: dict[str, str | float] = {"series": series, "model": model}
    for key in HORIZONS:
        row[f"{key} %"] = round(100 * errors[key]["total"], 2)
        row[f"{key} ÷ seasonal naive"] = round(errors[key]["total"] / seasonal[key]["total"], 2)
    row["30 days by day %"] = round(100 * errors["30 days"]["day"], 2)
    row["CPU ms a series"] = round(cpu_ms, 1)
    return row


def _import_rows() -> list[Row]:
    """Return the cost of importing the libraries, in seconds of CPU and MB."""
    rows: list[Row] = []
    for library in ("statsforecast", "statsmodels"):
        for each in list(_query_library(library, []).values())[:1]:
            rows.append(
                {
                    "import": library,
                    "CPU seconds": each["import_seconds"],
                    "MB": each["import_mb"],
                }
            )
    return rows
