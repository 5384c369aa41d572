"""Savings plan negations are left out where they cancel covered usage, and what they do not cancel is never lost."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.finops.costs.focus_reader import FocusRead
from tests.finops.costs.native.cur_files import PLAN, Line, as_csv, as_legacy_csv, as_parquet, line, usage


def covered_line(cost: str, **other: object) -> Line:
    return line(
        "SavingsPlanCoveredUsage",
        cost,
        savings_plan_savings_plan_effective_cost=Decimal("0.5"),
        savings_plan_savings_plan_a_r_n=PLAN,
        **other,
    )


def negation(cost: str, **other: object) -> Line:
    return line("SavingsPlanNegation", cost, savings_plan_savings_plan_a_r_n=PLAN, **other)


def notes(read: FocusRead) -> str:
    return " ".join(note for file in read.report.files for note in file.notes)


def negation_rows(read: FocusRead) -> list[dict[str, object]]:
    return [row for row in read.rows if row["x:^line^item^type"] == "SavingsPlanNegation"]


def test_the_remainder_of_a_negation_is_an_adjustment_of_its_month_and_account() -> None:
    read = FocusRead(as_parquet([usage("1"), covered_line("10"), negation("-9.25")]))
    (row,) = negation_rows(read)
    assert (row["billed_cost"], row["effective_cost"], row["list_cost"]) == (Decimal("0.75"), 0, 0)
    assert (row["charge_category"], row["charge_frequency"]) == ("Adjustment", "One-Time")
    assert (row["account_id"], row["account_name"], row["currency"]) == ("210000000001", "shop", "USD")
    assert (row["service"], row["region"]) == ("Amazon Elastic Compute Cloud", "us-east-1")
    assert (str(row["billing_period"]), str(row["charge_date"])) == ("2026-05-01", "2026-05-01")
    assert sum(read.column("billed_cost")) == Decimal("1.75")
    assert "1 SavingsPlanNegation lines of -9.25 USD were left out" in notes(read)
    assert "differ from the usage they cancel: 0.75 USD of account 210000000001 in 2026-05." in notes(read)


def test_a_negation_of_more_than_was_covered_is_kept_too() -> None:
    read = FocusRead(as_csv([covered_line("10"), negation("-12")]))
    assert [row["billed_cost"] for row in negation_rows(read)] == [-2]


def test_negations_cancel_usage_of_another_file_of_the_import() -> None:
    first, second = as_parquet([usage("1"), covered_line("10")]), as_parquet([usage("2"), negation("-10")])
    for files in ((first, second), (second, first)):
        read = FocusRead(*files)
        assert (sum(read.column("billed_cost")), negation_rows(read)) == (3, [])
        assert "differ" not in notes(read)


def test_an_uncanceled_amount_of_one_account_does_not_affect_another() -> None:
    other = {"line_item_usage_account_id": "210000000002", "line_item_usage_account_name": "search"}
    read = FocusRead(
        as_legacy_csv(
            [covered_line("10"), negation("-8"), covered_line("4", **other), negation("-6", **other)]
        )
    )
    assert {row["account_id"]: row["billed_cost"] for row in negation_rows(read)} == {
        "210000000001": 2,
        "210000000002": -2,
    }


def test_months_are_held_against_each_other_apart() -> None:
    june = datetime(2026, 6, 1, tzinfo=UTC)
    read = FocusRead(as_csv([covered_line("10"), negation("-10", start=june), usage("1", start=june)]))
    assert {str(row["billing_period"]): row["billed_cost"] for row in negation_rows(read)} == {
        "2026-05-01": 10,
        "2026-06-01": -10,
    }


def test_negations_that_cancel_another_region_of_the_account_leave_nothing() -> None:
    read = FocusRead(as_csv([covered_line("10"), negation("-10", product_region_code="eu-central-1")]))
    assert (negation_rows(read), sum(read.column("billed_cost"))) == ([], 0)


def test_less_than_a_cent_is_kept_and_not_worth_a_note() -> None:
    read = FocusRead(as_csv([covered_line("10"), negation("-9.9999999999")]))
    assert [row["billed_cost"] for row in negation_rows(read)] == [Decimal("0.0000000001")]
    assert "differ" not in notes(read)


def test_an_export_that_leaves_negations_out_is_billed_0_for_covered_usage_and_says_so() -> None:
    read = FocusRead(as_csv([usage("1"), covered_line("10")]))
    assert sum(read.column("billed_cost")) == 1
    assert (
        "no SavingsPlanNegation lines. Usage that a savings plan covers, 10 USD on demand, is billed 0"
        in notes(read)
    )


def test_negations_are_counted_by_currency() -> None:
    read = FocusRead(
        as_csv(
            [
                *(covered_line("10"), negation("-10")),
                *(
                    each("5" if each is covered_line else "-5", line_item_currency_code="CNY")
                    for each in (covered_line, negation)
                ),
            ]
        )
    )
    assert "1 SavingsPlanNegation lines of -5 CNY were left out" in notes(read)
    assert "1 SavingsPlanNegation lines of -10 USD were left out" in notes(read)


COSTS = st.decimals(min_value=Decimal(-100), max_value=Decimal(100), places=4)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["usage", "covered", "negation"]),
            COSTS,
            st.sampled_from(["210000000001", "210000000002"]),
            st.sampled_from(["USD", "CNY"]),
            st.sampled_from([5, 6]),
            st.booleans(),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_billed_cost_is_the_unblended_cost_whatever_negations_are(
    lines: list[tuple[str, Decimal, str, str, int, bool]],
) -> None:
    expected: dict[tuple[str, str, int], Decimal] = defaultdict(Decimal)
    files: tuple[list[Line], list[Line]] = ([], [])
    makers = {"usage": usage, "covered": covered_line, "negation": negation}
    for kind, cost, account, currency, month, second in [
        *lines,
        *(("negation", Decimal(-1), "210000000001", "USD", 5, each) for each in (False, True)),
    ]:
        expected[account, currency, month] += cost
        files[second].append(
            makers[kind](
                str(cost),
                line_item_usage_account_id=account,
                line_item_currency_code=currency,
                start=datetime(2026, month, 3, tzinfo=UTC),
            )
        )
    read = FocusRead(*map(as_csv, files))
    totals: dict[tuple[str, str, int], Decimal] = defaultdict(Decimal)
    for row in read.rows:
        totals[row["account_id"], row["currency"], row["billing_period"].month] += row["billed_cost"]
    assert {key: total for key, total in totals.items() if total} == {
        key: total for key, total in expected.items() if total
    }
