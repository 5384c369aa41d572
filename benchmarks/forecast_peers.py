"""Forecasts of statsforecast and statsmodels, for the benchmark `forecast`. Runs in an environment that has them.

Standard input: a JSON list of series (lists of numbers, days in order). Standard output: JSON by model with its
forecasts of the next 90 days, its CPU seconds, and what importing its library took. Not part of the product.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

DAYS, WEEK = 90, 7

Fit = Callable[[Any], Sequence[float]]


def statsforecast_models() -> dict[str, Fit]:
    models: Any = importlib.import_module("statsforecast.models")

    def of(make: Callable[[], Any]) -> Fit:
        return lambda values: [float(each) for each in make().forecast(y=values, h=DAYS)["mean"]]

    return {
        "statsforecast AutoTheta": of(lambda: models.AutoTheta(season_length=WEEK)),
        "statsforecast AutoTheta, additive": of(
            lambda: models.AutoTheta(season_length=WEEK, decomposition_type="additive")
        ),
        "statsforecast Theta": of(lambda: models.Theta(season_length=WEEK)),
        "statsforecast OptimizedTheta": of(lambda: models.OptimizedTheta(season_length=WEEK)),
        "statsforecast AutoCES": of(lambda: models.AutoCES(season_length=WEEK)),
        "statsforecast AutoETS": of(lambda: models.AutoETS(season_length=WEEK)),
        "statsforecast DynamicOptimizedTheta": of(lambda: models.DynamicOptimizedTheta(season_length=WEEK)),
        "statsforecast MSTL, 7 and 30 days": of(lambda: models.MSTL(season_length=[WEEK, 30])),
    }


def statsmodels_models() -> dict[str, Fit]:
    smoothing: Any = importlib.import_module("statsmodels.tsa.holtwinters")
    state: Any = importlib.import_module("statsmodels.tsa.exponential_smoothing.ets")
    stl: Any = importlib.import_module("statsmodels.tsa.forecasting.stl")

    def holt_winters(values: Any) -> Sequence[float]:
        model = smoothing.ExponentialSmoothing(
            values, trend="add", damped_trend=True, seasonal="add", seasonal_periods=WEEK
        )
        return [float(each) for each in model.fit().forecast(DAYS)]

    def ets(values: Any) -> Sequence[float]:
        model = state.ETSModel(values, error="add", seasonal="add", seasonal_periods=WEEK)
        return [float(each) for each in model.fit(disp=False).forecast(DAYS)]

    def decompose(values: Any) -> Sequence[float]:
        model = stl.STLForecast(
            values,
            state.ETSModel,
            model_kwargs={"error": "add", "trend": "add", "damped_trend": True},
            period=WEEK,
            robust=True,
        )
        return [float(each) for each in model.fit(fit_kwargs={"disp": False}).forecast(DAYS)]

    return {
        "statsmodels Holt-Winters": holt_winters,
        "statsmodels ETS": ets,
        "statsmodels STL and ETS": decompose,
    }


def measure_library(series: Sequence[Sequence[float]], library: str) -> dict[str, Any]:
    before, start = _memory(), time.process_time()
    models = {"statsforecast": statsforecast_models, "statsmodels": statsmodels_models}[library]()
    imported = {"import_seconds": time.process_time() - start, "import_mb": _memory() - before}
    return {name: {**imported, **_run(fit, series)} for name, fit in models.items()}


def _run(fit: Fit, series: Sequence[Sequence[float]]) -> dict[str, Any]:
    array: Any = importlib.import_module("numpy").array
    start, forecasts = time.process_time(), []
    for values in series:
        try:
            forecasts.append(list(fit(array(values, dtype=float))))
        except (ValueError, ArithmeticError, IndexError, RuntimeError):
            forecasts.append([values[-WEEK + index % WEEK] for index in range(DAYS)])
    return {"forecasts": forecasts, "cpu_seconds": time.process_time() - start}


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    json.dump(measure_library(json.load(sys.stdin), sys.argv[1]), sys.stdout)
