"""The form of every connector that there is: each field of its config has one of the form, and its words."""

from __future__ import annotations

from typing import Any

import pytest

from finops.connections.catalog import GROUPS, connector_groups, group_of
from finops.connections.connector import Connector, secret_fields
from finops.connections.connectors import connectors
from finops.connections.forms import ConnectionForm
from finops.templatetags.console import icon

each_connector = pytest.mark.parametrize("connector", connectors().values(), ids=lambda each: each.name)


@each_connector
def test_every_connector_has_a_form_of_its_config(connector: Connector[Any]) -> None:
    form = ConnectionForm(connector)

    assert {"name", "first_month", "interval_minutes"}.isdisjoint(connector.Config.__struct_fields__)
    for bound in form.bound_config_fields:
        assert bound.label
        assert "_" not in str(bound.label)


@each_connector
def test_no_secret_of_a_connector_is_written_into_its_form(connector: Connector[Any]) -> None:
    secrets = secret_fields(connector.Config)
    typed = dict.fromkeys(secrets, "quaxolotl-secret")

    forms = [ConnectionForm(connector, typed), ConnectionForm(connector, stored=typed)]

    for form in forms:
        assert "quaxolotl-secret" not in "".join(str(bound) for bound in form.bound_config_fields)


@each_connector
def test_every_connector_has_a_card(connector: Connector[Any]) -> None:
    assert icon(connector.icon)
    assert group_of(connector) in GROUPS
    assert connector in [each for group in connector_groups(connector.title) for each in group.connectors]
