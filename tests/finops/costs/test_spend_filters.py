from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from accounts.models import Account
from finops.costs.queries import query_spend
from finops.costs.spend_query import Filter, Op, SpendQuery
from finops.lib.errors import UserError
from tests.factories.costs import add_source, cost

DAY = date(2026, 3, 2)
VALUES = {
    "1": "Amazon EC2",
    "2": "amazon ec2",
    "4": "Amazon S3",
    "8": '50%_off\'s \\ "x"',
    "16": None,
    "32": "Straße",
}


@pytest.fixture
def lines(acme: Account) -> Account:
    add_source(acme, [cost(DAY, amount, service=name, tags={"Env": "p"}) for amount, name in VALUES.items()])
    return acme


def total(account: Account, *filters: Filter) -> Decimal:
    """The amounts are powers of two, so the total says which lines passed."""
    answer = query_spend(account, SpendQuery(period="month_to_date", filters=list(filters)))
    return sum((total.amount for total in answer.totals), Decimal(0))


def service(op: Op, *values: str) -> Filter:
    return Filter(dimension="service", op=op, values=list(values))


@pytest.mark.parametrize(
    ("chosen", "passed"),
    [
        (service("in", "AMAZON ec2"), 1 + 2),
        (service("in", "Amazon S3", "(none)"), 4 + 16),
        (service("not_in", "Amazon S3"), 1 + 2 + 8 + 16 + 32),
        (service("not_in", "Amazon S3", "(none)"), 1 + 2 + 8 + 32),
        (service("contains", "S3", "EC2"), 1 + 2 + 4),
        (service("contains", "%"), 8),
        (service("contains", "_"), 8),
        (service("contains", "'s \\ \""), 8),
        (service("not_contains", "amazon"), 8 + 16 + 32),
        (service("starts_with", "amazon", "stra"), 1 + 2 + 4 + 32),
        (service("ends_with", "S3", "ASSE"), 4),
        (service("in", "STRAßE"), 32),
        (service("absent"), 16),
        (Filter(dimension="tag:Env", op="in", values=["P"]), 63),
        (Filter(dimension="tag:Other", op="absent"), 63),
        (Filter(dimension="Source", op="in", values=["bill"]), 63),
        (Filter(dimension="source", op="contains", values=["nothing"]), 0),
    ],
)
def test_a_filter_keeps_exactly_its_lines(lines: Account, chosen: Filter, passed: int) -> None:
    assert total(lines, chosen) == passed


def test_a_part_of_a_name_finds_what_bills_call_it_too(acme: Account) -> None:
    names = {"1": "Amazon Elastic Compute Cloud", "2": "EC2 - Other", "4": "Amazon S3"}
    add_source(acme, [cost(DAY, amount, service=name) for amount, name in names.items()])
    name_filter = service("contains", "ec2")

    answer = query_spend(acme, SpendQuery(period="month_to_date", filters=[name_filter]))

    assert answer.totals[0].amount == 3
    assert "Amazon Elastic Compute Cloud" in answer.resolved_filters[0].values
    assert answer.resolved_filters[0].asked == ["ec2"]
    assert total(acme, service("not_contains", "ec2")) == 4


def test_filters_are_joined_by_and(lines: Account) -> None:
    assert total(lines, service("contains", "amazon"), service("not_in", "amazon s3")) == 3


def test_an_alias_finds_every_name_that_bills_use(acme: Account) -> None:
    names = ["Amazon Elastic Compute Cloud", "AmazonEC2", "Virtual Machines"]
    add_source(acme, [cost(DAY, 1, service=name) for name in names])

    answer = query_spend(
        acme, SpendQuery(period="month_to_date", filters=[Filter(dimension="service", values=["EC2"])])
    )

    assert answer.totals[0].amount == 2
    assert answer.resolved_filters[0].values == ["Amazon Elastic Compute Cloud", "AmazonEC2"]
    assert answer.resolved_filters[0].asked == ["EC2"]
    assert not [warning for warning in answer.warnings if "No cost" in warning]


def test_a_value_that_is_not_in_the_data_is_said_with_the_nearest(lines: Account) -> None:
    answer = query_spend(
        lines, SpendQuery(period="month_to_date", filters=[service("in", "Amazon S33", "Amazon EC2")])
    )

    assert answer.totals[0].amount == 3
    assert answer.warnings[0] == (
        "No cost on these days has service 'Amazon S33'. Nearest: 'Amazon S3', 'amazon ec2'. See "
        "listDimensionValues."
    )


def test_no_match_at_all_is_not_silent(lines: Account) -> None:
    answer = query_spend(lines, SpendQuery(period="month_to_date", filters=[service("in", "Nope")]))

    assert answer.totals == []
    assert answer.summary == (
        "No cost line matches the filters from 2026-03-01 to 2026-03-20; no day is complete from 2026-03-03 on; "
        "bills cover 1 of 20 days."
    )
    assert "listDimensionValues" in answer.hint


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (
            service("absent", "x"),
            "filters: op absent on service has no values. Remove values, or use op in.",
        ),
        (
            service("in"),
            "filters: op in on service needs at least one value (see listDimensionValues). For lines",
        ),
        (
            service("in", *map(str, range(501))),
            (
                "filters: service has 501 values; the maximum is 500. Use op contains, starts_with "
                "or ends_with."
            ),
        ),
        (
            Filter(dimension="servce", values=["x"]),
            "filters: 'servce' does not exist. Nearest: service, source, service_category.",
        ),
    ],
)
def test_a_misused_filter_says_how_to_repair_it(lines: Account, chosen: Filter, message: str) -> None:
    with pytest.raises(UserError) as error:
        total(lines, chosen)

    assert error.value.message.startswith(message)
