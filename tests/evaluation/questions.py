"""The questions: what a person asks, the call that answers it, and the right answer from the raw files."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from tests.evaluation.question import Question, Truth
from tests.evaluation.readers import Answer, changes, exact, rows, series, totals
from tests.evaluation.truth import COLUMNS, Figures, RawFiles, Spend, Usage
from tests.evaluation.what_if import (
    about_assumptions,
    about_events,
    about_purchases,
    about_receipts,
    about_versions,
)

# Truths of more than one sum


def difference(now: Spend, before: Spend) -> Truth:
    def truth(raw: RawFiles) -> Figures:
        current, previous = raw.spend(now), raw.spend(before)
        return {
            key: current.get(key, Decimal(0)) - previous.get(key, Decimal(0)) for key in current | previous
        }

    return truth


def _in_all(spend: Spend) -> Truth:
    return lambda raw: raw.spend(spend)


def _quantity_of(usage: Usage) -> Truth:
    return lambda raw: raw.usage(usage)


# Questions

_PERIOD_PHRASES = {
    "last_month": "last month",
    "month_to_date": "so far this month",
    "last_7_days": "in the last 7 days",
    "last_30_days": "in the last 30 days",
    "yesterday": "yesterday",
    "last_week": "last week",
    "quarter_to_date": "so far this quarter",
}
_TOTALS = (
    "How much did we spend {}?",
    "What is our total cloud cost {}?",
    "Give me the total of our bills {}.",
)
_GROUPS = {
    "service": ("What did each service cost {}?", "Which services did we spend most on {}?"),
    "provider": ("How is our spend divided between cloud providers {}?", "What did we pay AWS, Google and the others {}?"),
    "region": ("Break our cost down by region {}.", "In which regions do we spend most {}?"),
    "account": ("What does every account cost {}?", "Which subscriptions and projects were the most expensive {}?"),
    "service_category": ("How much went to compute, storage and databases {}?", "Spend by service category {}, please."),
    "charge_category": ("How much of our bill was tax, credits and purchases {}?", "Split cost {} by charge category."),
    "source": ("What did each connected bill add up to {}?", "Cost by source {}?"),
}  # fmt: skip
_FILTERED = {
    "service": ("How much did {value} cost {when}?", "What do we spend on {value} {when}?"),
    "provider": ("What did we pay {value} {when}?", "What was our {value} bill {when}?"),
    "region": ("What does running in {value} cost us {when}?", "Spend in region {value} {when}?"),
    "account": ("What did account {value} spend {when}?", "How expensive was {value} {when}?"),
}
VALUES = {
    "service": (
        "Amazon Elastic Compute Cloud",
        "BigQuery",
        "Amazon Simple Storage Service",
        "Compute Engine",
        "Claude API",
        "Amazon Relational Database Service",
    ),
    "provider": ("AWS", "Microsoft", "Google Cloud", "Anthropic"),
    "region": ("us-east-1", "eu-west-1", "us-central1", "westeurope"),
    "account": ("204117730985", "lumenly-ml", "608831452290", "wrkspc_product"),
}


def questions() -> list[Question]:
    return [
        *_about_totals(),
        *_about_groups(),
        *_about_values(),
        *_about_basis(),
        *_about_changes(),
        *_about_time(),
        *_about_tags(),
        *_about_names(),
        *_about_ai(),
        *_about_usage(),
        *_about_unit_cost(),
        *_about_commitments(),
        *_about_plans(),
        *about_assumptions(),
        *about_purchases(),
        *about_versions(),
        *about_events(),
        *about_receipts(),
    ]


def _about_totals() -> Iterator[Question]:
    for number, (period, phrase) in enumerate(_PERIOD_PHRASES.items()):
        for text in (_TOTALS[number % 3], _TOTALS[(number + 1) % 3]):
            yield Question(
                text.format(phrase), "querySpend", {"period": period}, _in_all(Spend(period)), totals
            )


def _about_groups() -> Iterator[Question]:
    periods = list(_PERIOD_PHRASES)
    for number, (dimension, texts) in enumerate(_GROUPS.items()):
        for place, text in enumerate(texts):
            for period in (periods[(number + place) % 7], periods[(number + place + 3) % 7]):
                arguments = {"period": period, "group_by": [dimension], "limit": 8}
                truth = _in_all(Spend(period, by=dimension))
                yield Question(
                    text.format(_PERIOD_PHRASES[period]), "querySpend", arguments, truth, rows, is_part=True
                )


def _about_values() -> Iterator[Question]:
    periods = list(_PERIOD_PHRASES)
    for dimension, values in VALUES.items():
        for number, value in enumerate(values):
            for place, text in enumerate(_FILTERED[dimension]):
                period = periods[(number + 2 * place) % 7]
                yield Question(
                    text.format(value=value, when=_PERIOD_PHRASES[period]),
                    "querySpend",
                    {"period": period, "filters": [{"dimension": dimension, "values": [value]}]},
                    _in_all(Spend(period, where=f"{COLUMNS[dimension]} = '{value}'")),
                    totals,
                )


def _about_basis() -> Iterator[Question]:
    for period in ("last_month", "last_30_days"):
        yield Question(
            f"What is our amortized cost {_PERIOD_PHRASES[period]}, with reservations spread?",
            "querySpend",
            {"period": period, "basis": "amortized"},
            _in_all(Spend(period, measure="amortized")),
            totals,
        )
        yield Question(
            f"What was spent {_PERIOD_PHRASES[period]} without tax and credits?",
            "querySpend",
            {"period": period, "charge_categories": ["Usage", "Purchase"]},
            _in_all(Spend(period, where="ChargeCategory in ('Usage', 'Purchase')")),
            totals,
        )
        for service in VALUES["service"][:3]:
            yield Question(
                f"By which regions does {service} spend {_PERIOD_PHRASES[period]}?",
                "querySpend",
                {
                    "period": period,
                    "group_by": ["region"],
                    "filters": [{"dimension": "service", "values": [service]}],
                },
                _in_all(Spend(period, by="region", where=f"ServiceName = '{service}'")),
                rows,
                is_part=True,
            )


def _about_changes() -> Iterator[Question]:
    october, september = Spend("last_month"), Spend("month_before")
    for text in (
        "Why did our bill change last month?",
        "What made cost rise or fall against the month before?",
        "Explain the change of spend in October.",
    ):
        yield Question(
            text, "explainSpendChange", {"period": "last_month"}, difference(october, september), changes
        )
    for dimension in ("service", "account", "region"):
        yield Question(
            f"Which {dimension} changed our spend most last month, and why?",
            "explainSpendChange",
            {"period": "last_month", "group_by": [dimension]},
            difference(october, september),
            changes,
        )
    for provider in VALUES["provider"]:
        where = f"ProviderName = '{provider}'"
        yield Question(
            f"Why did {provider} get more or less expensive last month?",
            "explainSpendChange",
            {"period": "last_month", "filters": [{"dimension": "provider", "values": [provider]}]},
            difference(Spend("last_month", where=where), Spend("month_before", where=where)),
            changes,
        )


def _about_time() -> Iterator[Question]:
    for period, bucket in (("last_30_days", "day"), ("last_7_days", "day"), ("quarter_to_date", "month")):
        yield Question(
            f"Show our spend {_PERIOD_PHRASES[period]} for every {bucket}.",
            "querySpend",
            {"period": period, "granularity": bucket},
            _in_all(Spend(period, bucket=bucket)),
            series,
        )
        yield Question(
            f"How does AWS cost develop {_PERIOD_PHRASES[period]}, {bucket} by {bucket}?",
            "querySpend",
            {
                "period": period,
                "granularity": bucket,
                "filters": [{"dimension": "provider", "values": ["AWS"]}],
            },
            _in_all(Spend(period, bucket=bucket, where="ProviderName = 'AWS'")),
            series,
        )


def _about_tags() -> Iterator[Question]:
    for period in ("last_month", "last_7_days"):
        for tag in ("env", "customer"):
            yield Question(
                f"What does each {tag} tag cost {_PERIOD_PHRASES[period]}?",
                "querySpend",
                {"period": period, "group_by": [f"tag:{tag}"], "limit": 10},
                _in_all(Spend(period, tag=tag)),
                rows,
                is_part=True,
            )
        for team, values in (
            ("Platform", ("platform",)),
            ("Data & ML", ("data", "ml")),
            ("Search", ("search",)),
        ):
            spelled = ", ".join(f"'{value}'" for value in values)
            where = f"lower(trim(coalesce(nullif(tags['team'], ''), tags['Team']))) in ({spelled})"
            yield Question(
                f"How much did the team {team} spend {_PERIOD_PHRASES[period]}?",
                "querySpend",
                {"period": period, "filters": [{"dimension": "team", "values": [team]}]},
                _in_all(Spend(period, where=where)),
                totals,
            )


def _about_names() -> Iterator[Question]:
    for dimension, text in (
        ("service", "Which services are in our bills?"),
        ("region", "What are the names of our regions in the data?"),
        ("provider", "Which providers bill us?"),
        ("account", "List our accounts and subscriptions by cost."),
        ("service_category", "Which service categories have we?"),
    ):
        yield Question(
            text,
            "listDimensionValues",
            {"dimension": dimension, "period": "last_month", "limit": 5},
            _in_all(Spend("last_month", by=dimension, where=f"{COLUMNS[dimension]} is not null")),
            _values,
            is_part=True,
        )


def _values(answer: Answer) -> Figures:
    return {
        (each["value"], amount["currency"]): exact(amount["amount"])
        for each in answer["values"]
        if not each["value"].startswith("(")
        for amount in each["amounts"]
    }


def _about_ai() -> Iterator[Question]:
    for period in ("last_month", "last_30_days", "month_to_date", "last_7_days"):
        yield Question(
            f"What did language models of Anthropic cost {_PERIOD_PHRASES[period]}?",
            "querySpend",
            {"period": period, "filters": [{"dimension": "ai_vendor", "values": ["Anthropic"]}]},
            _in_all(Spend(period, where="ProviderName = 'Anthropic'")),
            totals,
        )
        yield Question(
            f"How much amortized cost has each provider {_PERIOD_PHRASES[period]}?",
            "querySpend",
            {"period": period, "group_by": ["provider"], "basis": "amortized"},
            _in_all(Spend(period, by="provider", measure="amortized")),
            rows,
            is_part=True,
        )


def _about_usage() -> Iterator[Question]:
    for metric, plural in (
        ("requests", "API requests"),
        ("documents_processed", "documents"),
        ("tokens", "assistant tokens"),
        ("revenue", "dollars of revenue"),
    ):
        for period in ("last_month", "last_7_days"):
            yield Question(
                f"How many {plural} did our customers use {_PERIOD_PHRASES[period]}?",
                "queryUsage",
                {"usage_metric": metric, "period": period},
                _quantity_of(Usage(period, metric)),
                lambda answer: {(): exact(answer["quantity"])},
            )
        yield Question(
            f"Which customers used the most {plural} last month?",
            "queryUsage",
            {"usage_metric": metric, "period": "last_month", "group_by": "customer", "limit": 5},
            _quantity_of(Usage("last_month", metric, by_customer=True)),
            lambda answer: {
                (row["value"],): exact(row["quantity"]) for row in answer["rows"] if row["value"] != "other"
            },
            is_part=True,
        )


def _about_unit_cost() -> Iterator[Question]:
    for metric, unit in (("requests", "API request"), ("documents_processed", "processed document")):
        for period in ("last_month", "last_7_days"):
            yield Question(
                f"What does one {unit} cost us {_PERIOD_PHRASES[period]}?",
                "queryUnitCost",
                {"usage_metric": metric, "period": period, "basis": "billed"},
                _cost_and_usage(Spend(period), Usage(period, metric)),
                lambda answer: {
                    (each["currency"], part): exact(each[part])
                    for each in answer["totals"]
                    for part in ("cost", "usage")
                },
            )


def _cost_and_usage(spend: Spend, usage: Usage) -> Truth:
    def truth(raw: RawFiles) -> Figures:
        quantity = raw.usage(usage)[()]
        return {
            (currency, part): figure
            for (currency,), amount in raw.spend(spend).items()
            for part, figure in (("cost", amount), ("usage", quantity))
        }

    return truth


def _about_commitments() -> Iterator[Question]:
    for text in (
        "How well are our reserved instances and savings plans used last month?",
        "How much of our commitments was wasted last month?",
        "What did unused reservations and savings plans cost last month?",
    ):
        yield Question(
            text, "getCommitmentUtilization", {"period": "last_month"}, _usage_by_status, _commitment_parts
        )


def _usage_by_status(raw: RawFiles) -> Figures:
    return {
        (*key, status): amount
        for status in ("Used", "Unused")
        for key, amount in raw.spend(
            Spend("last_month", measure="amortized", where=f"CommitmentDiscountStatus = '{status}'")
        ).items()
    }


def _commitment_parts(answer: Answer) -> Figures:
    return {
        (each["currency"], status): exact(each[f"{status.lower()}_cost"])
        for each in answer["totals"]
        for status in ("Used", "Unused")
    }


def _about_plans() -> Iterator[Question]:
    for text in (
        "What will we have spent by the end of this month?",
        "Forecast our cost of this month.",
        "Where will the month's bill end?",
    ):
        yield Question(
            text,
            "forecastSpend",
            {"period": "month", "basis": "billed"},
            _in_all(Spend("month_to_date")),
            lambda answer: {(each["currency"],): exact(each["actual"]) for each in answer["totals"]},
        )
    for text in (
        "Are we within our budgets?",
        "Which budgets are exceeded or at risk?",
        "How much of the budget for all clouds in dollars is used?",
    ):
        yield Question(text, "listBudgets", {"limit": 50}, _spent_of_dollars, _dollar_budget)


def _spent_of_dollars(raw: RawFiles) -> Figures:
    spent = raw.spend(Spend("month_to_date", measure="amortized"))
    return {("All clouds, in dollars",): spent[("USD",)]}


def _dollar_budget(answer: Answer) -> Figures:
    return {
        (each["name"],): exact(each["spent"])
        for each in answer["budgets"]
        if each["name"] == "All clouds, in dollars"
    }
