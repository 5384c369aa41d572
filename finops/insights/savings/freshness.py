"""Freshness of provider recommendations by source, and recommendations that could not be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from finops.insights.models import RecommendationRefresh
from finops.insights.savings.candidates import RULES
from finops.insights.savings.schemas import RecommendationFreshness
from finops.lib.cost_access import sees_whole_account
from finops.lib.sentences import join_with_and, quote, truncate

_SHOWN_GAPS = 3
_LONGEST = 600


def recommendation_refreshes() -> list[RecommendationRefresh]:
    """Return the refreshes of every source of the account with provider recommendations; none for readers with
    limited cost access, who do not see these. One query."""
    if not sees_whole_account():
        return []
    return list(RecommendationRefresh.objects.order_by("source_id"))


def freshness_of(
    refreshes: Iterable[RecommendationRefresh], names: Mapping[str, str]
) -> list[RecommendationFreshness]:
    """Return the freshness in the format of answers. Pure."""
    return [
        RecommendationFreshness(
            source=names.get(str(each.source_id), ""),
            provider=RULES[each.rule].label,
            origin=each.origin,
            as_of=each.succeeded_at,
            recommendations=each.kept,
            incomplete=is_incomplete(each),
            problem=problem_of(each),
        )
        for each in refreshes
    ]


def is_incomplete(each: RecommendationRefresh) -> bool:
    """Return whether recommendations of earlier, or some of the current ones, are missing. Credentials that never had
    access to recommendations are not incomplete: recommendations are optional."""
    return bool(each.gaps) or bool(each.error and (each.succeeded_at or not each.is_denied))


def problem_of(each: RecommendationRefresh) -> str:
    """Return why there is nothing newer, or what is missing, with what to do; empty if there is no problem."""
    parts = []
    if each.error:
        since = (
            f" Recommendations read on {each.succeeded_at:%Y-%m-%d} still count." if each.succeeded_at else ""
        )
        parts.append(f"Not read on {each.tried_at:%Y-%m-%d}: {each.error}{since}")
    if each.gaps:
        more = f" And {len(each.gaps) - _SHOWN_GAPS} more." if len(each.gaps) > _SHOWN_GAPS else ""
        parts.append(f"{_accounts(each)} not read: {' '.join(each.gaps[:_SHOWN_GAPS])}{more}")
    if each.left_out:
        left_out = "1 names" if each.left_out == 1 else f"{each.left_out:,} name"
        parts.append(f"{left_out} no readable amount.")
    return truncate(" ".join(parts), _LONGEST)


def incomplete_text(refreshes: Iterable[RecommendationRefresh], names: Mapping[str, str]) -> str:
    """Return what the figures of an answer lack, for its first sentence; empty if they are complete."""
    parts = []
    for each in refreshes:
        if not is_incomplete(each):
            continue
        of_source = f"{RULES[each.rule].label} of {quote(names.get(str(each.source_id), ''))}"
        if each.error and each.succeeded_at:
            parts.append(f"{of_source} is from {each.succeeded_at:%Y-%m-%d}: its refresh failed")
        elif each.error:
            parts.append(f"{of_source} could not be read yet")
        else:
            parts.append(f"{of_source} lacks {_accounts(each)}")
    return f"; incomplete: {join_with_and(parts)}" if parts else ""


def _accounts(each: RecommendationRefresh) -> str:
    return "1 account" if len(each.gaps) == 1 else f"{len(each.gaps)} accounts"
