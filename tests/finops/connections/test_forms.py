"""The form of every connector that there is: each field of its config has one of the form, and its words."""

from __future__ import annotations

from typing import Any

import pytest
from django import forms
from msgspec import inspect
from pytest_django import Settings

from finops.connections.catalog import GROUPS, connector_groups, group_of
from finops.connections.connector import Configurable, Connector, secret_fields
from finops.connections.connectors import connectors
from finops.connections.forms import ConfigForm, ConnectionForm
from finops.data_exports.destinations import destinations
from finops.templatetags.console import icon

each_connector = pytest.mark.parametrize("connector", connectors().values(), ids=lambda each: each.name)


@each_connector
def test_every_connector_has_a_form_of_its_config(connector: Connector[Any]) -> None:
    form = ConnectionForm(connector)

    assert {"name", "first_month", "interval_minutes"}.isdisjoint(connector.Config.__struct_fields__)
    for bound in form.bound_config_fields:
        assert bound.bound.label
        assert "_" not in str(bound.bound.label)


@each_connector
def test_no_secret_of_a_connector_is_written_into_its_form(connector: Connector[Any]) -> None:
    secrets = secret_fields(connector.Config)
    typed = dict.fromkeys(secrets, "quaxolotl-secret")

    forms = [ConnectionForm(connector, typed), ConnectionForm(connector, stored=typed)]

    for form in forms:
        assert "quaxolotl-secret" not in "".join(str(each.bound) for each in form.bound_config_fields)


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("aws_data_exports", "role"),
        ("bucket_focus", "access_key"),
        ("azure_exports", "service_principal"),
        ("google_bucket", "service_account_key"),
    ],
)
def test_the_servers_own_identity_comes_first_where_the_operator_lends_it(
    name: str, default: str, settings: Settings
) -> None:
    def access(**stored: str) -> forms.ChoiceField:
        field = ConnectionForm(connectors()[name], stored=stored or None).fields["access"]
        assert isinstance(field, forms.ChoiceField)
        return field

    kept_back, stored = access(), access(access="server_identity")
    settings.CONNECTION_AMBIENT_IDENTITY = True
    lent, other = access(), access(access=default)

    assert [values(field)[0] for field in (kept_back, lent)] == [default, "server_identity"]
    assert "server_identity" not in values(kept_back)
    assert "server_identity" in values(stored)
    assert [field.initial for field in (kept_back, stored, lent, other)] == [
        default,
        "server_identity",
        "server_identity",
        default,
    ]


def values(field: forms.ChoiceField) -> list[str]:
    return [str(value) for value, _ in list(field.choices)]  # type: ignore[arg-type]


@each_connector
def test_every_connector_has_a_card(connector: Connector[Any]) -> None:
    assert icon(connector.icon)
    assert group_of(connector) in GROUPS
    cards = [each for group in connector_groups(connector.title) for each in group.connectors]
    assert (connector in cards) is connector.is_offered


@pytest.mark.parametrize(
    "kind", [*connectors().values(), *destinations().values()], ids=lambda each: each.name
)
def test_a_condition_names_a_choice_of_the_same_form(kind: Configurable) -> None:
    form = ConfigForm(kind)
    described = {each.name: each for each in form.config_fields}
    for each in form.bound_config_fields:
        if condition := each.described.shown_for:
            choices = described[condition["field"]].type
            assert isinstance(choices, inspect.LiteralType)
            assert set(condition["choices"]) < set(choices.values)
            assert each.shown_with == f"id_{condition['field']}"
            assert not each.described.required
        if condition := each.described.required_for:
            choices = described[condition["field"]].type
            assert isinstance(choices, inspect.LiteralType)
            assert set(condition["choices"]) < set(choices.values)
            assert each.described.shown_for is None or set(condition["choices"]) <= set(
                each.described.shown_for["choices"]
            )
            assert condition["unless"] in {"", *described}
            if pair := condition["pair"]:
                other = described[pair].required_for
                assert other is not None
                assert other["pair"] == each.described.name
                assert described[pair].shown_for == each.described.shown_for
                assert set(condition["choices"]) <= set(condition["pair_choices"])
            assert not each.described.required


def test_the_fields_of_a_github_app_wait_for_the_choice_of_one() -> None:
    form = ConfigForm(connectors()["github"])
    shown = {each.described.name: each.shown_choices for each in form.bound_config_fields if each.shown_with}

    assert shown == {"token": "token", "app_id": "app", "installation_id": "app", "private_key": "app"}
