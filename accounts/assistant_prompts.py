"""The prompts that the MCP server offers, as pages tell of them: those of mcpserver/prompts/, which a test compares."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class AssistantPrompt:
    name: str
    title: str
    text: str


ASSISTANT_PROMPTS = (
    AssistantPrompt(
        "weekly_cost_digest",
        "Weekly cost digest",
        "What a week cost, what moved against the week before, and what to watch: anomalies, budgets, month end.",
    ),
    AssistantPrompt(
        "top_cost_drivers",
        "Top cost drivers this month",
        "What most of the money goes to this month, what drives it up or down, and what the month will cost.",
    ),
    AssistantPrompt(
        "anomaly_check",
        "Anomaly check",
        "Open anomalies, worst first: what each costs by month end, its likely cause, and whether the data is sound.",
    ),
    AssistantPrompt(
        "budget_health",
        "Budget health check",
        "Which budgets are exceeded or will be, when, what drives them, and which cost no budget watches.",
    ),
    AssistantPrompt(
        "savings_review",
        "Savings review",
        "What could be saved a month, proven by cost lines: what to do first by saving, effort and risk.",
    ),
    AssistantPrompt(
        "commitment_review",
        "Commitment review",
        "How reserved instances and savings plans are used: waste, coverage, what expires, whether to buy or let go.",
    ),
)
