"""AI spend: billed sums against the raw lines, estimates against a hand computation, and why they differ."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Account
from finops.ai_spend.ai_spend_query import AiSpendQuery
from finops.ai_spend.answers import AiSpendAnswer
from finops.ai_spend.queries import review_ai_spend
from finops.costs.spend_query import Filter
from finops.lake.schema import extension_column
from tests.factories.costs import Line, add_source, cost
from tests.factories.usage import Event, add_usage, event

MARCH = {"start_date": date(2026, 3, 1), "end_date": date(2026, 3, 10)}
DAYS = [date(2026, 3, day) for day in range(1, 11)]


def claude(day: date, amount: str, model: str, token_type: str, tokens: str, **columns: Any) -> Line:
    """A line as the connector for Anthropic writes it."""
    own = {"Model": model, "TokenType": token_type, **columns.pop("own", {})}
    return cost(
        day,
        amount,
        provider="Anthropic",
        service="Claude API",
        sku_id=f"{model}/{token_type}",
        usage_type=token_type.replace("_", " ").capitalize(),
        consumed_quantity=Decimal(tokens),
        consumed_unit="Tokens",
        **{extension_column(name): value for name, value in own.items()},
        **columns,
    )


def tokens(day: date, count: int, model: str, token_type: str, **dimensions: str) -> Event:
    return event(
        day,
        "acme-corp",
        count,
        metric="llm_tokens",
        dimensions={"model": model, "type": token_type, **dimensions},
    )


def ask(account: Account, **fields: Any) -> AiSpendAnswer:
    return review_ai_spend(account, AiSpendQuery(**{**MARCH, "compare_to": "none", **fields}))


def rows_of(answer: AiSpendAnswer) -> dict[tuple[str, ...], tuple[Decimal | None, Decimal | None]]:
    return {tuple(row.group): (row.billed, row.estimated) for row in answer.rows}


def test_billed_is_what_the_lines_of_ai_vendors_add_up_to(acme: Account) -> None:
    lines = [
        claude(DAYS[0], "3", "claude-sonnet-4-5-20250929", "uncached_input_tokens", "1000000"),
        claude(DAYS[1], "1.5", "claude-sonnet-4-5", "output_tokens", "100000"),
        cost(DAYS[2], "125", provider="Anthropic", service="Claude API", charge_description="Claude Team, seats"),
        cost(DAYS[2], "0.06", provider="AWS", service="Amazon Bedrock", usage_type="USE1-NovaLite-input-tokens",
             consumed_quantity=Decimal(1000), consumed_unit="1K tokens"),
        cost(DAYS[3], "7", provider="AWS", service="Claude Sonnet 4.5 (Amazon Bedrock Edition)",
             usage_type="USE1-MP:USE1_InputTokenCount-Units", consumed_quantity=Decimal(2), consumed_unit="Units"),
        cost(DAYS[3], "2", provider="Google Cloud", service="Vertex AI",
             usage_type="Gemini 2.5 Flash GA Text Input - Predictions"),
        cost(DAYS[3], "4", provider="Microsoft", service="Cognitive Services", usage_type="gpt-4o-0806-Inp-glbl Tokens"),
        # These only look like it.
        cost(DAYS[3], "900", provider="AWS", service="Amazon SageMaker", usage_type="USE1-ml.g5.xlarge"),
        cost(DAYS[3], "800", provider="Google Cloud", service="Vertex AI", usage_type="Online Prediction N1"),
        cost(DAYS[3], "700", provider="Microsoft", service="Cognitive Services", usage_type="S1 Speech To Text"),
        cost(DAYS[3], "600", provider="AWS", service="Amazon Elastic Compute Cloud", usage_type="BoxUsage:p5.48xlarge"),
    ]  # fmt: skip
    add_source(acme, lines)

    answer = ask(acme, group_by="vendor")

    assert [(total.billed, total.currency) for total in answer.totals] == [(Decimal("142.56"), "USD")]
    assert {tuple(row.group): row.billed for row in answer.rows} == {
        ("Anthropic",): Decimal("129.5"),
        ("Amazon Bedrock",): Decimal("7.06"),
        ("Azure OpenAI",): Decimal(4),
        ("Vertex AI",): Decimal(2),
    }
    assert rows_of(ask(acme, group_by="model")) == {
        ("(none)",): (Decimal(125), None),
        ("claude-sonnet-4-5",): (Decimal("11.5"), None),
        ("gpt-4o",): (Decimal(4), None),
        ("gemini-2.5-flash",): (Decimal(2), None),
        ("novalite",): (Decimal("0.06"), None),
    }
    assert answer.totals[0].other_charges == 125


def test_an_estimate_is_tokens_by_the_price_of_their_day(acme: Account) -> None:
    """Cache reads of Claude Sonnet 5.5 cost 0.20 USD a million up to 6 October 2026, then 0.10."""
    events = [
        tokens(date(2026, 10, 6), 5_000_000, "claude-sonnet-5-5", "cacheRead"),
        tokens(date(2026, 10, 7), 5_000_000, "claude-sonnet-5-5", "cacheRead"),
        tokens(date(2026, 10, 7), 1_000, "claude-sonnet-5-5-20260928", "output"),
    ]
    add_usage(acme, events)

    answer = ask(acme, start_date=date(2026, 10, 1), end_date=date(2026, 10, 31))

    assert [(each.estimated, each.currency) for each in answer.estimates] == [(Decimal("1.51"), "USD")]
    assert rows_of(answer) == {
        ("claude-sonnet-5-5", "cache_read"): (None, Decimal("1.5")),
        ("claude-sonnet-5-5", "output"): (None, Decimal("0.01")),
    }
    assert answer.estimates[0].difference is None


def test_a_model_without_a_price_has_no_estimate_and_is_named(acme: Account) -> None:
    add_usage(
        acme,
        [
            tokens(DAYS[0], 1_000_000, "claude-haiku-4-5", "input"),
            tokens(DAYS[0], 7_000, "llama-9", "input"),
            event(DAYS[1], "acme-corp", 300, metric="llm_tokens"),
        ],
    )

    answer = ask(acme)

    assert answer.estimates[0].estimated == 1
    assert [(each.model, each.token_type, each.tokens) for each in answer.unpriced] == [
        ("llama-9", "input", Decimal(7_000)),
        ("", "", Decimal(300)),
    ]
    assert rows_of(answer)["llama-9", "input"] == (None, None)
    assert "No estimate for 7,300 tokens without a price: 'llama-9' input" in answer.warnings[0]
    assert ", without 7,300 tokens that have no price" in answer.summary


def test_a_change_of_billed_spend_has_the_earlier_amount_and_says_why_there_is_none(acme: Account) -> None:
    before = [date(2026, 2, day) for day in range(19, 29)]
    amounts = {**dict.fromkeys(before, "1"), **dict.fromkeys(DAYS, "2")}
    add_source(
        acme,
        [claude(day, amount, "claude-sonnet-4-5", "input", "1000") for day, amount in amounts.items()],
    )

    compared = ask(acme, compare_to="previous_period").summary
    a_year_ago = ask(acme, compare_to="previous_year").summary

    assert "was billed 20.00 USD (+100.0 % against the 10.00 USD before) for AI" in compared
    assert "; not compared: the account has no data for 2025-03-01 to 2025-03-10; no estimate" in a_year_ago


@pytest.fixture
def both_sides(acme: Account) -> Account:
    """Ten billed days; usage of six of them, of one model in part, and of one that nobody billed."""
    lines = []
    for day in DAYS:
        lines += [
            claude(day, "2.70", "claude-sonnet-4-5", "uncached_input_tokens", "1000000"),  # 10 % below list
            claude(day, "5", "claude-opus-4-5", "uncached_input_tokens", "1000000"),
        ]
    lines.append(cost(DAYS[0], "40", provider="Anthropic", service="Claude API"))
    lines.append(cost(date(2026, 3, 19), 1))  # the days before are complete
    events = [tokens(day, 900_000, "claude-sonnet-4-5", "input") for day in DAYS[:6]]
    events.append(tokens(DAYS[0], 1_000_000, "claude-haiku-4-5", "input"))
    add_source(acme, lines)
    add_usage(acme, events)
    return acme


def test_billed_and_estimated_are_compared_on_the_same_days(both_sides: Account) -> None:
    answer = ask(both_sides)
    (estimate,) = answer.estimates

    assert (estimate.usage_days, estimate.compared_days) == (6, 6)
    assert answer.totals[0].billed == Decimal(117)
    assert estimate.compared_billed == 40 + 6 * Decimal("7.70")
    assert estimate.estimated == estimate.compared_estimated == 6 * Decimal("2.70") + 1
    assert "compared on 6 of 10 days" in " ".join(answer.warnings)


def test_the_difference_has_its_reasons_and_they_add_up(both_sides: Account) -> None:
    (estimate,) = ask(both_sides).estimates

    assert {part.name: part.amount for part in estimate.parts} == {
        "other_charges": Decimal(40),
        "not_in_usage": Decimal(30),  # claude-opus-4-5, six days
        "not_in_bill": Decimal(-1),  # claude-haiku-4-5
        "volume": 6 * Decimal("0.30"),  # 100,000 tokens a day more in the bill, at 3 USD
        "price": 6 * Decimal("-0.30"),
    }
    assert sum(part.amount for part in estimate.parts) == estimate.difference


def test_units_are_of_the_days_that_have_both(both_sides: Account) -> None:
    add_usage(
        both_sides,
        [
            *[event(day, "acme-corp", 4, metric="ai_sessions") for day in DAYS[:2]],
            *[event(day, "acme-corp", 5, metric="seats") for day in DAYS],
        ],
        seats="average_of_days",
    )

    total = ask(both_sides).totals[0]

    assert total.per_1000_tokens.amount == Decimal(77) / Decimal(20_000)
    assert (total.per_session.amount, total.per_session.days) == (Decimal("55.40") / 8, 2)
    assert total.per_seat.amount == Decimal(117) / 5


def test_people_keys_and_features_come_from_the_bill_and_from_usage(acme: Account) -> None:
    own = {"UserEmail": "ada@acme.test", "ApiKeyName": "prod"}
    lines = [
        claude(DAYS[0], "3", "claude-sonnet-4-5", "uncached_input_tokens", "1000000", own=own,
               tags={"feature": "search"}),
        claude(DAYS[0], "6", "claude-sonnet-4-5", "uncached_input_tokens", "2000000", actor="api-key:evals"),
        claude(DAYS[0], "1", "claude-haiku-4-5", "output_tokens", "200000", actor="bo@acme.test"),
    ]  # fmt: skip
    add_source(acme, lines)
    add_usage(
        acme,
        [
            tokens(DAYS[0], 500_000, "claude-sonnet-4-5", "input", feature="search"),
            tokens(DAYS[0], 100_000, "claude-sonnet-4-5", "input"),
        ],
    )

    assert {row.group[0]: row.billed for row in ask(acme, group_by="person").rows} == {
        "(none)": Decimal(6), "ada@acme.test": Decimal(3), "bo@acme.test": Decimal(1),
    }  # fmt: skip
    assert {row.group[0]: row.billed for row in ask(acme, group_by="key").rows} == {
        "evals": Decimal(6), "prod": Decimal(3), "(none)": Decimal(1),
    }  # fmt: skip
    assert rows_of(ask(acme, group_by="feature")) == {
        ("(untagged)",): (Decimal(7), Decimal("0.3")),
        ("search",): (Decimal(3), Decimal("1.5")),
    }


def test_a_filter_that_usage_lacks_leaves_no_estimate(both_sides: Account) -> None:
    answer = ask(both_sides, filters=[Filter(dimension="service", values=["Claude API"])])

    assert answer.estimates == []
    assert answer.estimate_reason == "Usage is not filtered by Service, so there is no estimate."


def test_a_filter_on_the_model_filters_usage_too(both_sides: Account) -> None:
    answer = ask(both_sides, filters=[Filter(dimension="ai_model", values=["claude-sonnet-4-5"])])

    assert answer.totals[0].billed == Decimal(27)
    assert answer.estimates[0].estimated == 6 * Decimal("2.70")


def test_an_account_without_ai_spend_says_so(acme: Account) -> None:
    add_source(acme, [cost(DAYS[0], 5, service="Amazon Elastic Compute Cloud")])

    answer = ask(acme)

    assert (answer.totals, answer.estimates, answer.rows) == ([], [], [])
    assert "has no AI spend" in answer.summary
    assert "No usage metric counts tokens" in answer.summary
