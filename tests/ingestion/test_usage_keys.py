"""Usage sources, the life of their keys, and the settings of metrics."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from django.core import serializers
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEntry
from accounts.scoping import account_scope
from finops.lib.errors import UserError
from ingestion import services
from ingestion.models import UsageKey, UsageMetric, UsageSource
from ingestion.services.keys import PREFIX, authenticate_usage_key
from tests.cast import Cast


@pytest.fixture
def source(cast: Cast) -> UsageSource:
    return services.create_usage_source(account=cast.account, actor=cast.actor, name="Backend")


@pytest.fixture
def pull_source(cast: Cast) -> UsageSource:
    return services.create_usage_source(account=cast.account, actor=cast.actor, name="Vendor", kind="pull")


def actions(cast: Cast) -> list[str]:
    with account_scope(cast.account):
        return list(
            AuditEntry.objects.filter(action__startswith="usage_")
            .order_by("pk")
            .values_list("action", flat=True)
        )


def keys(source: UsageSource) -> list[UsageKey]:
    return list(UsageKey.objects.unscoped().filter(source=source).order_by("pk"))


def lives(plaintext: str) -> bool:
    return authenticate_usage_key(plaintext) is not None


# Sources


def test_a_new_source_takes_pushes_and_has_no_key(cast: Cast, source: UsageSource) -> None:
    assert (source.name, source.kind, source.created_by) == ("Backend", "push", cast.member)
    assert keys(source) == []
    assert actions(cast) == ["usage_source.create"]


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"name": "   "},
        {"name": "x" * 101},
        {"name": "Backend"},
        {"name": "x", "kind": "carrier pigeon"},
    ],
    ids=["empty", "blank", "long", "taken", "kind"],
)
def test_a_source_with_a_bad_name_or_kind_is_refused(
    cast: Cast, source: UsageSource, fields: dict[str, str]
) -> None:
    with pytest.raises(ValidationError):
        services.create_usage_source(account=cast.account, actor=cast.actor, **fields)

    assert actions(cast) == ["usage_source.create"]


def test_two_accounts_may_call_a_source_the_same(cast: Cast, source: UsageSource) -> None:
    services.create_usage_source(account=cast.other_account, actor=cast.other_actor, name=source.name)


def test_a_renamed_source_keeps_its_key(cast: Cast, source: UsageSource) -> None:
    _key, plaintext = services.generate_usage_key(source=source, actor=cast.actor)

    services.rename_usage_source(source=source, actor=cast.actor, name=" Gateway ")

    source.refresh_from_db()
    assert source.name == "Gateway"
    assert lives(plaintext)
    assert actions(cast)[-1] == "usage_source.rename"


# Generate


def test_a_generated_key_opens_its_source(cast: Cast, source: UsageSource) -> None:
    key, plaintext = services.generate_usage_key(source=source, actor=cast.actor)

    credential = authenticate_usage_key(plaintext)

    assert plaintext.startswith(PREFIX)
    assert credential is not None
    assert (credential.key_id, credential.source_id, credential.account) == (key.pk, source.pk, cast.account)
    assert key.created_by_label == cast.member.email
    assert actions(cast)[-1] == "usage_key.generate"


def test_only_the_prefix_and_dots_of_a_key_are_shown_afterwards(cast: Cast, source: UsageSource) -> None:
    key, plaintext = services.generate_usage_key(source=source, actor=cast.actor)

    assert key.masked_key == plaintext[:15] + "••••••••"
    assert str(key) == key.masked_key


def test_a_source_has_one_living_key_at_most(cast: Cast, source: UsageSource) -> None:
    _key, plaintext = services.generate_usage_key(source=source, actor=cast.actor)

    with pytest.raises(UserError, match="has a key already"):
        services.generate_usage_key(source=source, actor=cast.actor)

    assert lives(plaintext)
    assert len(keys(source)) == 1


def test_only_the_hash_of_a_key_is_stored_and_nothing_of_it_is_logged(
    cast: Cast, source: UsageSource, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), CaptureQueriesContext(connection) as queries:
        _key, plaintext = services.generate_usage_key(source=source, actor=cast.actor)
        _key, other = services.regenerate_usage_key(source=source, actor=cast.actor)
        lives(other)
    with account_scope(cast.account):
        dump = serializers.serialize("json", [*UsageKey.objects.all(), *AuditEntry.objects.all()])
    log_and_sql = dump + caplog.text + json.dumps([query["sql"] for query in queries.captured_queries])

    for key in (plaintext, other):
        secret = key[len(PREFIX) + 10 :]
        assert secret not in log_and_sql
        assert secret[:16] not in log_and_sql


# Regenerate


def test_a_regenerated_key_takes_the_place_of_the_old_one_at_once(cast: Cast, source: UsageSource) -> None:
    first, old = services.generate_usage_key(source=source, actor=cast.actor)

    second, new = services.regenerate_usage_key(source=source, actor=cast.actor)

    assert (lives(old), lives(new)) == (False, True)
    assert [key.revoked_at is None for key in keys(source)] == [False, True]
    assert [key.pk for key in keys(source)] == [first.pk, second.pk]
    assert actions(cast)[-1] == "usage_key.regenerate"


def test_a_key_can_be_regenerated_any_time_again(cast: Cast, source: UsageSource) -> None:
    plaintexts = [services.generate_usage_key(source=source, actor=cast.actor)[1]]
    plaintexts += [services.regenerate_usage_key(source=source, actor=cast.actor)[1] for _ in range(3)]

    assert [lives(plaintext) for plaintext in plaintexts] == [False, False, False, True]


def test_without_a_key_there_is_nothing_to_regenerate(cast: Cast, source: UsageSource) -> None:
    with pytest.raises(UserError, match="Generate one"):
        services.regenerate_usage_key(source=source, actor=cast.actor)

    assert keys(source) == []


def test_two_people_who_replace_the_same_key_replace_it_once(cast: Cast, source: UsageSource) -> None:
    first_key, _old = services.generate_usage_key(source=source, actor=cast.actor)
    _key, first = services.regenerate_usage_key(source=source, actor=cast.actor, replaces=first_key.pk)

    with pytest.raises(UserError, match="This key was already replaced, and a new key is shown only once"):
        services.regenerate_usage_key(source=source, actor=cast.actor, replaces=first_key.pk)

    assert lives(first)


def test_the_other_sources_of_the_account_keep_their_keys(cast: Cast, source: UsageSource) -> None:
    other = services.create_usage_source(account=cast.account, actor=cast.actor, name="Other")
    _key, other_key = services.generate_usage_key(source=other, actor=cast.actor)
    services.generate_usage_key(source=source, actor=cast.actor)

    services.regenerate_usage_key(source=source, actor=cast.actor)
    services.revoke_usage_key(source=source, actor=cast.actor)

    assert lives(other_key)


# Revoke


def test_a_revoked_key_is_dead_and_no_other_takes_its_place(cast: Cast, source: UsageSource) -> None:
    _key, plaintext = services.generate_usage_key(source=source, actor=cast.actor)

    services.revoke_usage_key(source=source, actor=cast.actor)

    assert not lives(plaintext)
    assert [key.revoked_at is None for key in keys(source)] == [False]
    assert actions(cast)[-1] == "usage_key.revoke"


def test_revoking_twice_is_recorded_once(cast: Cast, source: UsageSource) -> None:
    services.generate_usage_key(source=source, actor=cast.actor)

    services.revoke_usage_key(source=source, actor=cast.actor)
    services.revoke_usage_key(source=source, actor=cast.actor)

    assert actions(cast).count("usage_key.revoke") == 1


def test_after_revoking_a_new_key_can_be_generated(cast: Cast, source: UsageSource) -> None:
    services.generate_usage_key(source=source, actor=cast.actor)
    services.revoke_usage_key(source=source, actor=cast.actor)

    _key, plaintext = services.generate_usage_key(source=source, actor=cast.actor)

    assert lives(plaintext)


# Sources that pull


@pytest.mark.parametrize(
    "change", [services.generate_usage_key, services.regenerate_usage_key, services.revoke_usage_key]
)
def test_a_source_that_pulls_has_no_key(cast: Cast, pull_source: UsageSource, change: Any) -> None:
    with pytest.raises(UserError, match="pulls usage with a vendor's credential and has no API key"):
        change(source=pull_source, actor=cast.actor)

    assert keys(pull_source) == []


def test_the_kind_is_read_from_the_database_and_not_from_the_callers_object(
    cast: Cast, pull_source: UsageSource
) -> None:
    pull_source.kind = "push"

    with pytest.raises(UserError, match="pulls usage with a vendor's credential and has no API key"):
        services.generate_usage_key(source=pull_source, actor=cast.actor)


# Metrics


def test_a_metric_is_set_before_or_after_its_first_event(cast: Cast) -> None:
    def set_metric(**settings: str) -> UsageMetric:
        return services.set_metric(account=cast.account, actor=cast.actor, name="seats", **settings)

    metric = set_metric(aggregation="average_of_days", label=" Seats ")
    changed = set_metric(aggregation="last")

    assert metric.pk == changed.pk
    assert (changed.aggregation, changed.label) == ("last", "Seats")
    assert actions(cast) == ["usage_metric.change", "usage_metric.change"]


@pytest.mark.parametrize(
    "settings",
    [{"aggregation": "median"}, {"label": "x" * 101}, {"name": "x" * 101}, {"name": ""}],
    ids=["aggregation", "label", "name", "empty"],
)
def test_a_metric_with_bad_settings_is_refused(cast: Cast, settings: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        services.set_metric(account=cast.account, actor=cast.actor, **{"name": "seats", **settings})

    assert UsageMetric.objects.unscoped().count() == 0
