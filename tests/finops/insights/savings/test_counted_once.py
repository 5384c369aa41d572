"""Recommendations of clouds by API and file, in any number of sources, with our own rules: each resource and each
commitment counts once."""

from __future__ import annotations

from collections import Counter, defaultdict
from decimal import Decimal
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from finops.insights.models import ImportedSaving
from finops.insights.savings.billed_resources import BilledResource, BilledResources, google_key, resource_key
from finops.insights.savings.candidates import (
    ADVISOR,
    HUB,
    RECOMMENDER,
    WEEKENDS,
    LineKey,
    Piece,
    SavingCandidate,
    deduplicate_by_precedence,
)
from finops.insights.savings.provider_recommendations import provider_candidates
from finops.lib.money import exact_sum
from tests.examples import examples

AMOUNTS = st.decimals("1", "9999", places=2)
NAMES = ["a", "b", "c"]
SPELLINGS = {
    HUB.name: ["arn:aws:ec2:eu-west-1:1:instance/{}"],
    ADVISOR.name: ["/subscriptions/S/resourceGroups/R/vm/{}", "/SUBSCRIPTIONS/s/resourcegroups/r/VM/{}/"],
    RECOMMENDER.name: [
        "//compute.googleapis.com/projects/p-1/zones/z/instances/{}",
        "//compute.googleapis.com/projects/4711/zones/z/instances/{}",
    ],
}
IN_BILL = {
    HUB.name: "{}",
    ADVISOR.name: "/subscriptions/s/resourcegroups/r/vm/{}",
    RECOMMENDER.name: "//compute.googleapis.com/projects/p-1/zones/z/instances/99{}",
}


@st.composite
def resource_rows(draw: st.DrawFn) -> ImportedSaving:
    rule, name = draw(st.sampled_from(sorted(SPELLINGS))), draw(st.sampled_from(NAMES))
    return ImportedSaving(
        rule=rule,
        source_id=draw(st.sampled_from([1, 2])),
        recommendation_id=draw(st.sampled_from(["x", "y"])),
        action=draw(st.sampled_from(["Stop", "Resize"])),
        resource_id=draw(st.sampled_from(SPELLINGS[rule])).format(name),
        sub_account="p-1",
        monthly_saving=draw(AMOUNTS),
        currency="USD",
    )


@st.composite
def commitment_rows(draw: st.DrawFn) -> ImportedSaving:
    is_plan, is_shared = draw(st.booleans()), draw(st.booleans())
    return ImportedSaving(
        rule=ADVISOR.name,
        source_id=draw(st.sampled_from([1, 2])),
        recommendation_id=str(draw(st.integers(0, 10**6))),
        action="PurchaseSavingsPlans" if is_plan else "PurchaseReservedInstances",
        commitment="plan" if is_plan else draw(st.sampled_from(["VM d4", "VM e8"])),
        is_shared=is_shared,
        covers_compute=True,
        sub_account=draw(st.sampled_from(["s1", "s2"])),
        term=draw(st.sampled_from(["P1Y", "P3Y"])),
        lookback_days=draw(st.sampled_from([7, 30, 60])),
        monthly_saving=draw(AMOUNTS),
        currency=draw(st.sampled_from(["USD", "EUR"])),
    )


def billed_in(source: str) -> BilledResources:
    """What the lake knows of every resource, all in one source; AWS's by their ids alone."""
    billed = {}
    for rule in SPELLINGS:
        for name in NAMES:
            row = ImportedSaving(rule=rule, sub_account="p-1", resource_id=SPELLINGS[rule][0].format(name))
            resource = IN_BILL[rule].format(name)
            key = name if rule == HUB.name else resource_key(row)
            billed[key] = [BilledResource(source, "USD", "p-1", "", resource, name, Decimal(10))]
    return billed


def our_own(source: str) -> list[SavingCandidate]:
    """A rule of ours on each resource of the bill, on two lines of it."""
    candidates = []
    for rule, spelling in IN_BILL.items():
        for name in NAMES:
            pieces = [
                Piece(
                    LineKey(source, "USD", "p-1", "r", usage, spelling.format(name)),
                    name,
                    Decimal(9),
                    Decimal(3),
                    "",
                )
                for usage in ("cpu", "ram")
            ]
            candidates.append(SavingCandidate(WEEKENDS.name, (rule, name), "", "", "", "", "", "", pieces))
    return candidates


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(resource_rows(), max_size=12))
def test_each_resource_counts_once_by_its_largest_recommendation(rows: list[ImportedSaving]) -> None:
    counted = deduplicate_by_precedence([*provider_candidates(rows, billed_in("1")), *our_own("1")])

    expected: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for row in rows:
        of = row.rule, row.resource_id.rstrip("/")[-1]
        expected[of] = max(expected[of], row.monthly_saving)
    own_savings = {(rule, name): Decimal(6) for rule in IN_BILL for name in NAMES}
    total = exact_sum(each.saving or Decimal(0) for each in counted)
    assert total == exact_sum({**own_savings, **expected}.values())
    lines = Counter(piece.line for each in counted for piece in each.pieces)
    assert set(lines.values()) <= {1}
    assert len({each.key for each in counted}) == len(counted)


def totals(rows: list[ImportedSaving]) -> dict[str, Decimal]:
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for each in provider_candidates(rows):
        sums[each.currency] += each.saving or Decimal(0)
    return dict(sums)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(commitment_rows(), max_size=10, unique_by=lambda row: row.recommendation_id), st.randoms())
def test_each_commitment_counts_once_in_any_order_and_from_any_source(
    rows: list[ImportedSaving], random: Random
) -> None:
    """By hand: the largest of each purchase; then the larger of shared and apart; then of plans and reservations."""
    expected: dict[str, Decimal] = {}
    for currency in {row.currency for row in rows}:
        best: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
        for row in rows:
            if row.currency == currency:
                place = "" if row.is_shared else row.sub_account
                best[row.commitment, place] = max(best[row.commitment, place], row.monthly_saving)
        amounts: dict[tuple[str, str], Decimal] = {}
        for commitment_id in {commitment for commitment, _ in best}:
            shared = best.get((commitment_id, ""), Decimal(0))
            apart = {key: saving for key, saving in best.items() if key[0] == commitment_id and key[1]}
            amounts |= {(commitment_id, ""): shared} if shared >= exact_sum(apart.values()) else apart
        places = {""} if any(not place for _, place in amounts) else {place for _, place in amounts}
        expected[currency] = Decimal(0)
        for place in places:
            here = {key: saving for key, saving in amounts.items() if not place or key[1] == place}
            plans = exact_sum(saving for key, saving in here.items() if key[0] == "plan")
            expected[currency] += max(plans, exact_sum(here.values()) - plans)

    assert totals(rows) == expected
    copies = [
        ImportedSaving(**{f.attname: getattr(row, f.attname) for f in row._meta.fields} | {"source_id": 3})
        for row in rows
    ]
    shuffled = [*rows, *copies]
    random.shuffle(shuffled)
    assert totals(shuffled) == expected


def test_googles_names_and_numbers_of_projects_are_one_key() -> None:
    named, numbered = (each.format("vm") for each in SPELLINGS[RECOMMENDER.name])

    assert google_key("p-1", named) == google_key("p-1", numbered) != google_key("p-2", named)
    assert google_key("p-1", "") == ""
