"""Usage sources, and metrics, whose aggregation is how their quantities add up over time."""

from __future__ import annotations

from functools import partial

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lib.errors import UserError
from ingestion.events import EVENT_FIELDS
from ingestion.models import UsageMetric, UsageSource, UsageUpload
from ingestion.services import upload_files
from ingestion.services.keys import end_pushes


@transaction.atomic
def create_usage_source(
    *, account: Account, actor: Actor, name: str, kind: str = UsageSource.Kind.PUSH.value
) -> UsageSource:
    """Create a usage source without a key. Raises ValidationError for a name that is empty, too long or already used."""
    source = UsageSource(account=account, name=name.strip(), kind=kind, created_by=actor.user)
    with account_scope(account):
        source.full_clean()
    source.save(force_insert=True)
    audit.record(
        account=account,
        actor=actor,
        action="usage_source.create",
        target=source.name,
        detail={"kind": source.kind},
    )
    return source


@transaction.atomic
def delete_usage_source(*, source: UsageSource, actor: Actor) -> None:
    """Delete a source with its key, its uploads and all of its usage; its stored events stay on the meter.

    A push in progress is waited for, and deleted with the source; a later one gets 401.
    """
    account, pk, name = source.account, source.pk, source.name
    end_pushes(account=account, source_id=pk)
    # Unscoped: the caller found the source.
    files = list(UsageUpload.objects.unscoped().filter(source=source).values_list("path", flat=True))
    source.delete()
    segments.retire_source(account=account, kind=Kind.USAGE, source_id=pk)
    audit.record(account=account, actor=actor, action="usage_source.delete", target=name, detail={})
    for path in files:
        transaction.on_commit(partial(upload_files.remove, path))


@transaction.atomic
def rename_usage_source(*, source: UsageSource, actor: Actor, name: str) -> None:
    """Rename a source; its key and events stay. Raises ValidationError as on creating."""
    before, source.name = source.name, name.strip()
    with account_scope(source.account):
        source.full_clean()
    source.save(update_fields=["name"])
    audit.record(
        account=source.account,
        actor=actor,
        action="usage_source.rename",
        target=source.name,
        detail={"from": before, "to": source.name},
    )


@transaction.atomic
def set_customer_attribute(*, source: UsageSource, actor: Actor, customer_attribute: str) -> None:
    """Set the attribute of OpenTelemetry metrics that names the customer; empty for the default. Applies to later
    requests. Raises ValidationError for one that is too long."""
    _change_setting(source, actor, "customer_attribute", customer_attribute.strip())


@transaction.atomic
def set_event_id_field(*, source: UsageSource, actor: Actor, event_id_field: str) -> None:
    """Set the field of pushed events whose value is the event_id of events without one; empty for none. Applies to later
    requests. Raises UserError for a field that has another meaning, ValidationError for one that is too long."""
    field = event_id_field.strip()
    if field in EVENT_FIELDS:
        raise UserError(
            f"{field} is a field of its own. Choose a field that your sender adds.", field="event_id_field"
        )
    _change_setting(source, actor, "event_id_field", field)


def _change_setting(source: UsageSource, actor: Actor, name: str, value: str) -> None:
    before = getattr(source, name)
    setattr(source, name, value)
    with account_scope(source.account):
        source.full_clean()
    source.save(update_fields=[name])
    audit.record(
        account=source.account,
        actor=actor,
        action=f"usage_source.{name}",
        target=source.name,
        detail={"from": before, "to": value},
    )


@transaction.atomic
def set_metric(
    *, account: Account, actor: Actor, name: str, aggregation: str | None = None, label: str | None = None
) -> UsageMetric:
    """Set a metric's aggregation or label; creates the metric if no event has named it yet.

    None leaves a value unchanged. Applies to all past usage, since quantities are aggregated at query time. Raises
    ValidationError for an unknown aggregation, or a name or label that is too long.
    """
    with account_scope(account):
        row = UsageMetric.objects.select_for_update().filter(name=name).first()
        metric = row or UsageMetric(account=account, name=name)
        before = _settings(metric)
        metric.aggregation = metric.aggregation if aggregation is None else aggregation
        metric.label = metric.label if label is None else label.strip()
        metric.full_clean()
        metric.save()
    audit.record(
        account=account,
        actor=actor,
        action="usage_metric.change",
        target=name,
        detail={"from": before, "to": _settings(metric)},
    )
    return metric


def _settings(metric: UsageMetric) -> dict[str, str]:
    return {"aggregation": metric.aggregation, "label": metric.label}
