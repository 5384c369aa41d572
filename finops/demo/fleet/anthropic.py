"""Lumenly's use of an AI vendor: tokens by model, by API keys of features and by people."""

from __future__ import annotations

from collections.abc import Iterator

from finops.demo.company import CUSTOMERS, person
from finops.demo.lines import ResourceLine, line

# API key: workspace, team, model, million input tokens a day, output a thousand of input, feature, shape
_KEYS = (
    ("key-support-copilot", "ws-product", "growth", "sonnet", 19.0, 120, "support-copilot", "traffic"),
    ("key-search-answers", "ws-product", "search", "haiku", 90.0, 60, "search-answers", "traffic"),
    ("key-doc-extract", "ws-product", "payments", "sonnet", 14.0, 180, "doc-extract", "traffic"),
    ("key-report-writer", "ws-product", "data", "opus", 4.0, 260, "report-writer", "month_end"),
    ("key-moderation", "ws-product", "security", "haiku", 40.0, 15, "moderation", "traffic"),
    ("key-ci-review", "ws-engineering", "platform", "sonnet", 11.0, 90, "code-review", "people"),
    ("key-agent-research", "ws-research", "ml", "opus", 1.6, 300, "research-agent", "people"),
    ("key-evals", "ws-research", "ml", "haiku", 30.0, 200, "evals", "training"),
)
_CODERS = ("maya.okafor", "jonas.weber", "lin.zhao", "sofia.rossi", "tom.becker", "ines.duarte", "pavel.novak",
           "kenji.sato", "priya.nair", "lucas.martin")  # fmt: skip


def _tokens(
    name: str, workspace: str, model: str, shape: str, million: float, ratio: float, tags: dict[str, str]
) -> Iterator[ResourceLine]:
    yield line("anthropic", f"{model}.in", workspace, "global", name, shape, million, tags)
    yield line("anthropic", f"{model}.out", workspace, "global", name, shape, million * ratio / 1000, tags)
    if model == "sonnet":
        yield line("anthropic", "sonnet.cache", workspace, "global", name, shape, million * 4, tags)


def lines() -> Iterator[ResourceLine]:
    for name, workspace, team, model, million, ratio, feature, shape in _KEYS:
        tags = {"team": team, "feature": feature, "createdBy": f"api-key:{name}"}
        tags |= {"env": "prod"} if workspace == "ws-product" else {}
        yield from _tokens(name, workspace, model, shape, million, ratio, tags)
    for customer in CUSTOMERS[:12]:
        name = f"key-tenant-{customer.id}"
        tags = {"customer": customer.id, "feature": "tenant-assistant", "team": "growth", "env": "prod",
                "createdBy": f"api-key:{name}"}  # fmt: skip
        yield from _tokens(name, "ws-product", "haiku", "traffic", 30 * customer.weight, 110, tags)
    for index, coder in enumerate(_CODERS):
        tags = {"createdBy": person(coder), "feature": "coding"}
        model = "opus" if index % 4 == 0 else "sonnet"
        yield from _tokens(f"seat-{coder}", "ws-engineering", model, "people", 3 + index % 5 * 1.5, 70, tags)
