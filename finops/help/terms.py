"""The terms that pages explain behind a “?”: the glossary under Help. docs/how-we-count.md has the whole of each."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

Topic = Literal["Cost", "Forecasts and budgets", "Optimization", "Allocation", "Unit economics", "Data"]


class HelpTerm(msgspec.Struct, frozen=True, kw_only=True):
    """A term in the words of FOCUS and the FinOps Framework. `section` is that of “How we count” which has more."""

    name: str
    topic: Topic
    text: str
    section: str = ""


def _term(name: str, topic: Topic, text: str, section: str = "") -> HelpTerm:
    return HelpTerm(name=name, topic=topic, text=text, section=section)


TERMS: Final[dict[str, HelpTerm]] = {
    "billed-cost": _term(
        "Billed cost",
        "Cost",
        "Invoiced cost, on the day of the charge. FOCUS BilledCost.",
        "cost-view",
    ),
    "amortized-cost": _term(
        "Amortized cost",
        "Cost",
        "Daily cost of usage, with upfront payments spread over the usage they cover. FOCUS EffectiveCost.",
        "cost-view",
    ),
    "list-cost": _term("List cost", "Cost", "Usage at the provider's public prices, without any discount."),
    "contracted-cost": _term(
        "Contracted cost", "Cost", "Usage at negotiated prices, before commitment discounts."
    ),
    "cost-view": _term(
        "Cost view",
        "Cost",
        "The cost basis and charge categories that pages, assistants and budgets use by default. Set in Settings.",
        "cost-view",
    ),
    "charge-category": _term(
        "Charge category",
        "Cost",
        "Usage, Purchase, Tax, Credit or Adjustment, as FOCUS defines them.",
        "cost-view",
    ),
    "left-out": _term(
        "Left out",
        "Cost",
        "Cost that the cost view excludes. Amount + left out = the whole bill.",
        "cost-view",
    ),
    "display-currency": _term(
        "Display currency",
        "Cost",
        "Amounts converted at the rate of each day. Without a rate an amount is left out.",
    ),
    "forecast-range": _term(
        "80% range",
        "Forecasts and budgets",
        "The actual cost falls into this range with a probability of 80%. It is wider where spend varies more.",
        "forecast",
    ),
    "remaining-forecast": _term(
        "Remaining forecast",
        "Forecasts and budgets",
        "Expected cost from today to the end of the period.",
        "forecast",
    ),
    "budget-at-risk": _term(
        "At risk", "Forecasts and budgets", "The forecast reaches the budget's amount before its period ends."
    ),
    "impact": _term(
        "Impact", "Optimization", "Cost of the anomaly's days minus their expected cost.", "anomalies"
    ),
    "anomaly": _term(
        "Anomaly",
        "Optimization",
        "Days with cost outside the range expected from recent months. Overlapping anomalies are one incident.",
        "anomalies",
    ),
    "potential-savings": _term(
        "Potential monthly savings",
        "Optimization",
        "Cost that can still be avoided per month. Unused commitments are waste and not included.",
        "savings",
    ),
    "commitment-coverage": _term(
        "Coverage",
        "Optimization",
        "Share of eligible usage, at list prices, that commitments paid for.",
        "commitments",
    ),
    "commitment-utilization": _term(
        "Utilization", "Optimization", "Used commitment ÷ (used + unused commitment).", "commitments"
    ),
    "waste": _term(
        "Waste", "Optimization", "Amortized cost of commitments that nothing used.", "commitments"
    ),
    "effective-savings-rate": _term(
        "Effective savings rate (ESR)",
        "Optimization",
        "1 − actual cost ÷ on-demand equivalent, over all eligible usage. Waste is part of the actual cost.",
        "commitments",
    ),
    "cost-tag": _term(
        "Cost tag",
        "Allocation",
        "A custom dimension defined by rules on other dimensions. Applies to all past cost immediately.",
    ),
    "tag-coverage": _term(
        "Tag coverage",
        "Allocation",
        "Share of cost that a rule of the cost tag matches, without its default value.",
    ),
    "shared-cost": _term(
        "Shared cost", "Allocation", "Cost of several teams, such as support. A split allocates it by a rule."
    ),
    "not-allocated": _term("Not allocated", "Allocation", "Cost that belongs to no team."),
    "unit-cost": _term(
        "Unit cost",
        "Unit economics",
        "Cost ÷ usage of one metric in the same days. Empty where usage is missing, zero or negative.",
        "unit-cost",
    ),
    "customer-key": _term(
        "Customer key", "Unit economics", "The tag or dimension of cost that names the customer.", "unit-cost"
    ),
    "ai-spend": _term(
        "AI spend",
        "Unit economics",
        "Cost of language models: Anthropic, OpenAI, Amazon Bedrock, generative models of Vertex AI, Azure OpenAI.",
        "ai-spend",
    ),
    "ai-estimate": _term(
        "Estimated from usage",
        "Unit economics",
        "Tokens of usage events times the price of their day in the price list. Never added to billed cost.",
        "ai-spend",
    ),
    "data-through": _term(
        "Data through",
        "Data",
        "The last day that is complete for every source that delivers. Never today.",
        "days",
    ),
    "settle-time": _term(
        "Settle time",
        "Data",
        "Days after which a source's day no longer changes. Learned from its imports.",
        "days",
    ),
    "incomplete-days": _term(
        "Incomplete days",
        "Data",
        "Days with cost lines still to arrive. They count in totals; comparisons leave them out.",
        "days",
    ),
    "reconciliation": _term(
        "Difference",
        "Data",
        "Invoiced − billed cost of the lines. Exactly 0 matches; below 0.01 is rounding.",
        "invoices",
    ),
}


def terms_by_topic() -> dict[str, list[tuple[str, HelpTerm]]]:
    """Terms with their anchors, by topic, in alphabetical order."""
    topics: dict[str, list[tuple[str, HelpTerm]]] = {}
    for anchor, term in sorted(TERMS.items(), key=lambda item: item[1].name.casefold()):
        topics.setdefault(term.topic, []).append((anchor, term))
    return {topic: topics[topic] for topic in Topic.__args__}  # type: ignore[attr-defined]
