"""The text of an issue: what bills say in it is never markup, whatever it is."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from finops.insights.savings.schemas import Evidence, Recommendation
from finops.issues.atlassian_document import atlassian_document
from finops.issues.content import MAX_TITLE, IssueContent, IssueFact, issue_content, one_line
from finops.issues.markdown import code_span, markdown, plain_prose

URL = "http://localhost:8000/a/acme/savings/sav_1/"
PARSER = MarkdownIt("gfm-like", {"linkify": False})
NASTY = st.text(st.sampled_from("`*_[]()<>#@!|\\~$&;:/.-+=\"' \n\r\t\u202eabGH12"), max_size=40) | st.text(
    max_size=40
)


def fact(value: str) -> IssueFact:
    return IssueFact("Resource", one_line(value))


def content(value: str) -> IssueContent:
    return IssueContent(
        title=one_line(value),
        facts=[fact(value)],
        texts=[fact(value)],
        evidence=[[fact(value), IssueFact("", one_line(value))]],
        more_evidence=3,
        url=URL,
    )


def inline(text: str) -> list[Any]:
    return [child for token in PARSER.parse(text) for child in token.children or []]


@given(value=NASTY)
def test_a_value_is_one_code_span_with_all_of_it(value: str) -> None:
    tokens = [child for child in inline(f"- **Resource:** {code_span(value)}") if child.content.strip()]

    assert [child.type for child in tokens] == ["text", "code_inline"]
    assert tokens[-1].content == (one_line(value) or "-")


@given(value=NASTY)
def test_a_sentence_has_no_markup_but_code_spans(value: str) -> None:
    children = inline(f"**Action:** {plain_prose(value)}")
    children = children[[child.type for child in children].index("strong_close") + 1 :]

    assert {child.type for child in children} <= {"text", "code_inline"}
    assert " ".join("".join(child.content for child in children).split()) == one_line(value) or not one_line(
        value
    )
    plain = "".join(child.content for child in children if child.type == "text")
    assert not set(plain) & set("@#`*_[]<>|\\~$&/=+")


@given(value=NASTY)
def test_the_only_link_is_ours_and_the_marker_stands_at_the_end(value: str) -> None:
    text = markdown(content(value), "finops0123")
    children = inline(text)
    blocks = [token.type for token in PARSER.parse(text)]

    links = [child.attrs["href"] for child in children if child.type == "link_open"]
    assert links == [URL]
    assert not {"html_inline", "html_block", "image", "fence", "code_block", "heading_open", "table_open"} & (
        {child.type for child in children} | set(blocks)
    )
    assert text.splitlines()[-1] == (
        "Reference finops0123 links this issue to the recommendation. Keep this line."
    )


@given(value=NASTY)
def test_jira_gets_text_nodes_that_are_never_empty(value: str) -> None:
    document = atlassian_document(content(value or "x"), "finops0123")

    def walk(node: dict[str, Any]) -> list[dict[str, Any]]:
        return [node, *(each for child in node.get("content", []) for each in walk(child))]

    nodes = walk(document)
    assert {node["type"] for node in nodes} <= {"doc", "paragraph", "bulletList", "listItem", "text"}
    links = [mark for node in nodes for mark in node.get("marks", []) if mark["type"] == "link"]
    assert links == [{"type": "link", "attrs": {"href": URL}}]
    assert "finops0123" in json.dumps(nodes[-1])
    if one_line(value):
        assert all(node["text"] for node in nodes if node["type"] == "text")


def test_mentions_references_and_addresses_are_inside_code() -> None:
    text = plain_prose(
        "Ask @acme/owners, see #12, GH-12, acme/infra#3, www.evil.com or https://evil.com today."
    )

    assert text == (
        "Ask `@acme/owners,` see `#12, GH-12, acme/infra#3, www.evil.com` or `https://evil.com` today."
    )
    assert plain_prose("It changes while in use; above 3,000 IOPS (or 125 MiB/s) gp3 costs more.") == (
        "It changes while in use; above 3,000 IOPS (or 125 `MiB/s) gp3` costs more."
    )


def recommendation(**values: Any) -> Recommendation:
    other_fields: dict[str, Any] = {
        "id": "sav_1",
        "rule": "volume_type",
        "status": "open",
        "title": "Move 'gp2'\nto 'gp3'",
        "advice": "Change it.",
        "monthly_saving": Decimal("60.005"),
        "monthly_cost": Decimal(300),
        "currency": "USD",
        "effort": "low",
        "risk": "low",
        "risk_reason": "None.",
        "formula": "20 %",
        "source": "Bill",
        "provider": "AWS",
        "service": "EBS",
        "account": "lab",
        "evidence": [evidence(number) for number in range(30)],
        "evidence_count": 40,
    }
    return Recommendation(**{**other_fields, **values})


def evidence(number: int) -> Evidence:
    return Evidence(
        resource=f"vol-{number}",
        name="",
        usage_type="gp2",
        account="111",
        region=f"eu-west-{number % 2}",
        cost=Decimal(10),
        saving=None,
        currency="USD",
        note="",
    )


def test_amounts_have_their_currency_and_evidence_is_bounded(acme: Any) -> None:
    content = issue_content(acme, recommendation(), "2026-01-30 to 2026-02-28")
    facts = {each.label: each.value for each in content.facts}

    assert content.title == "Move 'gp2' to 'gp3' (60.00 USD a month)"
    assert (facts["Monthly savings"], facts["Monthly cost"]) == ("60.00 USD", "300.00 USD")
    assert facts["Region"] == "eu-west-0, eu-west-1"
    assert facts["Amortized cost of"] == "2026-01-30 to 2026-02-28"
    assert (len(content.evidence), content.more_evidence) == (20, 20)
    assert "- and 20 more on the page" in markdown(content, "m")
    assert "Resource" not in facts


def test_unknown_values_are_named_and_waste_is_no_saving(acme: Any) -> None:
    unknown = recommendation(monthly_saving=None, saving_reason="Bills do not show it.")
    waste = recommendation(rule="unused_commitment", monthly_saving=None, monthly_waste=Decimal(5))

    assert {"Monthly savings": "Bills do not show it."}.items() <= {
        each.label: each.value for each in issue_content(acme, unknown, "").facts
    }.items()
    facts = {each.label: each.value for each in issue_content(acme, waste, "").facts}
    assert facts["Monthly waste"] == "5.00 USD"
    assert "Monthly savings" not in facts


def test_long_texts_fit_every_tracker(acme: Any) -> None:
    long = "x" * 5_000
    rows = [
        Evidence(
            **{
                **{name: getattr(evidence(1), name) for name in Evidence.__struct_fields__},
                "resource": long,
                "name": long,
            }
        )
    ] * 30
    content = issue_content(
        acme, recommendation(title=long, advice=long, account=long, service=long, evidence=rows), "x"
    )

    assert len(content.title) <= MAX_TITLE
    assert len(markdown(content, "m")) < 65_536
    assert len(json.dumps(atlassian_document(content, "m"))) < 32_767
