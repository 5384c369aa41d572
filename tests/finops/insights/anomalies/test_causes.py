"""Root causes add up to the excess, whatever the amounts."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.models import Account
from finops.insights.anomalies.causes import ValueSides, causes_of
from finops.insights.anomalies.rows import incident_causes
from finops.insights.models import Anomaly
from finops.lib.money import exact_sum
from tests.examples import examples
from tests.factories.costs import add_source
from tests.finops.insights.anomalies.bills import SPIKE, bill, run_detection, with_extra

amounts = st.decimals(-(10**12), 10**12, places=18, allow_nan=False, allow_infinity=False)
sides = st.dictionaries(
    st.text(min_size=1, max_size=3),
    st.builds(ValueSides, actual=amounts, before=amounts.map(abs)),
    min_size=1,
    max_size=15,
)


@settings(max_examples=examples(60), deadline=None)
@given(by_value=sides, expected=amounts.map(abs))
def test_the_parts_are_the_excess_to_the_last_digit(
    by_value: dict[str, ValueSides], expected: Decimal
) -> None:
    causes = causes_of("region", "Region", by_value, expected)

    whole = exact_sum([*(side.actual for side in by_value.values()), -expected])
    assert causes.total == whole
    for row in causes.rows:
        assert row.excess == exact_sum([row.actual, -row.expected])


def test_every_dimension_of_a_found_anomaly_adds_up_to_its_impact(acme: Account) -> None:
    lines = []
    for number in range(12):
        extra = "40.000000000000000007" if number % 3 == 0 else "0"
        amount = with_extra(SPIKE, SPIKE + timedelta(days=1), extra)
        lines += bill(
            amount,
            resource_id=f"vm-{number:02}",
            region=f"region-{number % 2}",
            account_id=f"{number % 4}",
            account_name=f"Team {number % 4}",
            usage_type="hours",
            actor="ci" if number % 3 == 0 else None,
        )
    add_source(acme, lines)

    (anomaly,) = run_detection(acme)

    by_dimension = {causes.dimension: causes for causes in incident_causes([anomaly])}
    assert set(by_dimension) == {"usage_type", "resource", "account", "region", "actor"}
    assert {causes.total for causes in by_dimension.values()} == {anomaly.impact}
    assert by_dimension["resource"].other_values == 7
    assert by_dimension["account"].rows[0].name.startswith("Team ")
    assert by_dimension["actor"].rows[0].name == "ci"


def test_the_worst_resource_is_named(spike: Anomaly) -> None:
    causes = {each.dimension: each for each in incident_causes([spike])}

    assert causes["resource"].rows[0].value == "vm-2"
    assert causes["resource"].rows[0].actual == 600
