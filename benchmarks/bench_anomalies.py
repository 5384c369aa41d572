"""Quality of anomaly detection: precision, recall, days until detection, by type, compared with rules of other
products.

BENCH_ANOMALY_SERIES (600) synthetic series that were not used for tuning (`anomaly_worlds.JUDGING`), and 21 public
labelled ones (`tests/data/anomalies`). All rules get the same days, the same merging of unusual days into runs, and
the same minimum impact: SMALLEST of 30 days of the series' cost. Then whole accounts (`unseen_worlds`) with the
product's default minimum impact.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from statistics import fmean, median, pstdev
from time import process_time

from benchmarks import unseen_worlds
from benchmarks.anomaly_worlds import JUDGING, KINDS, QUIET_DAYS, Case, cases
from benchmarks.table import Row
from finops.insights.anomalies.detection import default_minimum, exact
from finops.insights.anomalies.detector import Detection, Series, detect

SERIES = int(os.environ.get("BENCH_ANOMALY_SERIES", "600"))
SMALLEST = 0.01
NAB = Path(__file__).parents[1] / "tests" / "data" / "anomalies" / "nab_daily.json"
YOUNG_DAYS = 45
LATEST = 3
"""A run that starts up to this many days after a label still matches it."""


@dataclass(frozen=True)
class Alarm:
    """A run that a rule reports: its days, the day of its first report, its direction."""

    first: int
    last: int
    detected_on: int
    up: bool


Rule = Callable[[date, Sequence[float | None]], list[Alarm]]


def console_alarms(start: date, values: Sequence[float | None]) -> list[Alarm]:
    series = Series(start, values)
    smallest = _smallest(values)
    return [
        Alarm(series.index(each.first), series.index(each.last), series.index(each.detected_on), each.is_up)
        for each in detect(series).detections
        if abs(each.excess) >= smallest
    ]


def seven_day_mean(start: date, values: Sequence[float | None]) -> list[Alarm]:
    """OptScale's default: a day must not differ from the mean of the last 7 by more than 30 %."""
    return _runs(values, lambda history, index: fmean(history[-7:]), lambda history, was: 0.3 * was, 7)


def three_sigma(start: date, values: Sequence[float | None]) -> list[Alarm]:
    """The textbook rule: mean and three standard deviations of the last 28 days."""
    return _runs(
        values,
        lambda history, index: fmean(history[-28:]),
        lambda history, was: 3 * pstdev(history[-28:]),
        14,
    )


def same_weekday(start: date, values: Sequence[float | None]) -> list[Alarm]:
    """The median of the last four same weekdays, with a tolerance of 30 %."""
    return _runs(
        values,
        lambda history, index: median([history[index - 7 * week] for week in (1, 2, 3, 4)]),
        lambda history, was: 0.3 * was,
        28,
    )


def smallest_difference(start: date, values: Sequence[float | None]) -> list[Alarm]:
    """Yotascale's rule: the smallest difference to yesterday, the 7-day mean, four same weekdays, days of the month
    and month ends; tolerance 1.14 % of the 30-day mean."""

    def nearest(history: Sequence[float], index: int) -> float:
        day, value = start + timedelta(days=index), values[index] or 0.0
        candidates = [history[-1], fmean(history[-7:]), *(history[index - 7 * week] for week in (1, 2, 3, 4))]
        for back in range(1, index + 1):
            other = day - timedelta(days=back)
            ends = (other + timedelta(days=1)).day == 1 and (day + timedelta(days=1)).day == 1
            if back <= 124 and (other.day == day.day or ends):
                candidates.append(history[index - back])
        return min(candidates, key=lambda each: abs(each - value))

    return _runs(values, nearest, lambda history, was: 0.0114 * fmean(history[-30:]), 30)


RULES: dict[str, Rule] = {
    "console": console_alarms,
    "7-day mean, 30 % (OptScale)": seven_day_mean,
    "same weekday x4, 30 %": same_weekday,
    "smallest difference (Yotascale)": smallest_difference,
    "28 days, 3 sigma": three_sigma,
}


def _runs(
    values: Sequence[float | None],
    expect: Callable[[Sequence[float], int], float],
    tolerate: Callable[[Sequence[float], float], float],
    warm: int,
) -> list[Alarm]:
    """Return runs of unusual days in one direction with gaps of at most two normal days."""
    history: list[float] = []
    alarms: list[tuple[Alarm, float]] = []
    for index, each in enumerate(values):
        value = (history[-1] if history else 0.0) if each is None else each
        if index >= warm and each is not None:
            was = expect(history, index)
            if abs(value - was) > tolerate(history, was):
                up, last = value > was, alarms[-1] if alarms else None
                if last and last[0].up == up and index - last[0].last <= 3:
                    alarms[-1] = (
                        Alarm(last[0].first, index, last[0].detected_on, up),
                        last[1] + value - was,
                    )
                else:
                    alarms.append((Alarm(index, index, index, up), value - was))
        history.append(value)
    return [alarm for alarm, excess in alarms if abs(excess) >= _smallest(values)]


def _smallest(values: Sequence[float | None]) -> float:
    present = [value for value in values if value is not None]
    return SMALLEST * 30 * fmean(present)


@dataclass
class Score:
    """Results of a rule for a set of series."""

    planted: int = 0
    hit: int = 0
    detected_on: int = 0
    right: int = 0
    clean_days: int = 0
    false_on_clean: int = 0
    late: list[int] | None = None

    @property
    def precision(self) -> float:
        return self.right / self.detected_on if self.detected_on else 0.0

    @property
    def recall(self) -> float:
        return self.hit / self.planted if self.planted else 0.0

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def young(cases_given: Sequence[Case]) -> list[Case]:
    """The same series for an account that has 45 days of them instead of 180."""
    cut = QUIET_DAYS - YOUNG_DAYS
    return [
        replace(
            case,
            start=case.start + timedelta(days=cut),
            values=case.values[cut:],
            planted=case.planted
            and replace(case.planted, first=case.planted.first - cut, last=case.planted.last - cut),
        )
        for case in cases_given
    ]


def score(rule: Rule, cases_given: Sequence[Case], quiet: int = QUIET_DAYS) -> dict[str, Score]:
    """Return scores by type, and over all types under an empty name. A run is correct if it overlaps a planted
    anomaly in the same direction."""
    scores = {name: Score(late=[]) for name in ("", *KINDS)}
    for case in cases_given:
        runs = [run for run in rule(case.start, case.values) if run.last >= quiet]
        planted, everything = case.planted, scores[""]
        right = [run for run in runs if planted and run.first <= planted.last and run.last >= planted.first
                 and (run.up == (planted.kind != "drop"))]  # fmt: skip
        after = [run for run in runs if planted and run not in right and _is_aftermath(case, run)]
        counted = [run for run in runs if run not in after]
        everything.detected_on += len(counted)
        everything.right += len(right)
        if planted is None:
            everything.clean_days += len(case.values) - quiet
            everything.false_on_clean += len(runs)
            continue
        for part in (everything, scores[planted.kind]):
            part.planted += 1
            part.hit += bool(right)
            if right:
                assert part.late is not None
                part.late.append(max(0, min(run.detected_on for run in right) - planted.first))
    return scores


def _is_aftermath(case: Case, run: Alarm) -> bool:
    """Return whether the run is the return to normal within ten days of a planted end, in the other direction:
    neither correct nor wrong."""
    planted = case.planted
    return bool(
        planted and planted.first <= run.first <= planted.last + 10 and run.up == (planted.kind == "drop")
    )


def measure() -> list[Row]:
    cases_given = cases(JUDGING, SERIES)
    scores, milliseconds = {}, {}
    for name, rule in RULES.items():
        start = process_time()
        scores[name] = score(rule, cases_given)
        milliseconds[name] = (process_time() - start) * 1_000 / sum(len(case.values) for case in cases_given)
    return [
        *[_overall(name, scores[name][""], milliseconds[name]) for name in RULES],
        *[_kinds(name, scores[name]) for name in RULES],
        *[_short(name, score(rule, young(cases_given), YOUNG_DAYS)[""]) for name, rule in RULES.items()],
        *[_public(name, rule) for name, rule in RULES.items()],
        *[_accounts(name, unseen_worlds.WORLDS[name]) for name in unseen_worlds.WORLDS],
    ]


def _overall(name: str, score_of_rule: Score, milliseconds: float) -> Row:
    return {
        "rule": name,
        "precision": round(score_of_rule.precision, 3),
        "recall": round(score_of_rule.recall, 3),
        "F1": round(score_of_rule.f1, 3),
        "false alarms per normal series and year": round(
            score_of_rule.false_on_clean * 365 / score_of_rule.clean_days, 2
        ),
        "median days until detection": float(median(score_of_rule.late or [0])),
        "CPU µs per day": milliseconds * 1_000,
    }


def _kinds(name: str, scores: dict[str, Score]) -> Row:
    cells = {
        f"{kind} ({scores[kind].planted})": f"{scores[kind].recall:.2f}, {median(scores[kind].late or [0]):.0f} d"
        for kind in KINDS
    }
    return {"recall, days until said": name, **cells}


def _short(name: str, score_of_rule: Score) -> Row:
    return {
        "45 days of history": name,
        "precision": round(score_of_rule.precision, 3),
        "recall": round(score_of_rule.recall, 3),
        "F1": round(score_of_rule.f1, 3),
    }


def _public(name: str, rule: Rule) -> Row:
    """Return scores on the public series. Labels count from the fourth week on, because before that no rule has
    enough history."""
    labelled = hit = alarm_count = right = 0
    for each in json.loads(NAB.read_text()).values():
        start = date.fromisoformat(each["start"])
        labels = [(date.fromisoformat(day) - start).days for day in each["labels"]]
        labels = [label for label in labels if 28 <= label < len(each["values"])]
        runs = [run for run in rule(start, each["values"]) if run.last >= 28]
        near = [[label for label in labels if run.first - LATEST <= label <= run.last + 1] for run in runs]
        alarm_count, right = alarm_count + len(runs), right + sum(bool(labels_near) for labels_near in near)
        labelled, hit = (
            labelled + len(labels),
            hit + len({label for labels_near in near for label in labels_near}),
        )
    return {
        "on 21 public series (NAB)": name,
        "labels": labelled,
        "recall": round(hit / labelled, 3),
        "detections": alarm_count,
        "precision": round(right / alarm_count, 3) if alarm_count else 0.0,
    }


def visible_detections(account: unseen_worlds.AccountCase, service: unseen_worlds.Service) -> list[Detection]:
    """Return the anomalies that the product shows for a service if the account has no minimum impact."""
    month = sum(sum(each.values[-30:]) for each in account.services)
    smallest = default_minimum(exact(month), exact(sum(service.values[-30:])))
    begin = account.start + timedelta(days=unseen_worlds.DAYS - unseen_worlds.WATCHED)
    return [
        detection
        for detection in detect(Series(account.start, service.values)).detections
        if detection.last >= begin and Decimal(abs(detection.excess)) >= smallest
    ]


def _accounts(name: str, world: unseen_worlds.World) -> Row:
    planted, hit = dict.fromkeys(unseen_worlds.KINDS, 0), dict.fromkeys(unseen_worlds.KINDS, 0)
    alarm_count = right = 0
    for account in unseen_worlds.accounts(world):
        for service in account.services:
            planted_here, runs = service.planted, visible_detections(account, service)
            own_runs = [run for run in runs if planted_here and _means(account, run, planted_here)]
            counted = [
                run
                for run in runs
                if not (planted_here and run not in own_runs and _goes_back(account, run, planted_here))
            ]
            alarm_count, right = alarm_count + len(counted), right + len(own_runs)
            if planted_here:
                planted[planted_here.kind] += 1
                hit[planted_here.kind] += bool(own_runs)
    return {
        "accounts of 120 services, at the default": name,
        "planted": sum(planted.values()),
        "precision": round(right / alarm_count, 3),
        "recall": round(sum(hit.values()) / sum(planted.values()), 3),
        **{kind: round(hit[kind] / planted[kind], 2) for kind in planted},
    }


def _means(account: unseen_worlds.AccountCase, run: Detection, planted: unseen_worlds.PlantedAnomaly) -> bool:
    first, last = ((day - account.start).days for day in (run.first, run.last))
    return first <= planted.last and last >= planted.first and run.is_up == planted.up


def _goes_back(
    account: unseen_worlds.AccountCase, run: Detection, planted: unseen_worlds.PlantedAnomaly
) -> bool:
    first = (run.first - account.start).days
    return planted.first <= first <= planted.last + 10 and run.is_up != planted.up
