"""A type of widget is a module of `finops/dashboards/widgets/` and a template of the same name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from msgspec.structs import fields

from accounts.models import Account
from accounts.scoping import account_scope
from finops.dashboards import widgets
from finops.dashboards.placement import COLUMNS, MAX_HEIGHT
from finops.dashboards.setting_fields import fields_of
from finops.dashboards.widget_type import WidgetType
from finops.dashboards.widgets import CATALOGUE

every_type = pytest.mark.parametrize("kind", CATALOGUE.values(), ids=CATALOGUE)


def names_of(folder: str, pattern: str) -> set[str]:
    return {path.stem for path in Path(folder).glob(pattern) if not path.stem.startswith("_")}


def test_each_module_is_in_the_catalogue_and_has_a_template_of_its_name() -> None:
    modules = names_of(widgets.__path__[0], "*.py")

    assert modules == set(CATALOGUE)
    assert modules == names_of(f"{settings.BASE_DIR}/templates/dashboards/widgets", "*.html")


def test_no_two_types_have_the_same_place_in_the_catalogue() -> None:
    orders = [kind.order for kind in CATALOGUE.values()]

    assert orders == sorted(set(orders))


@every_type
def test_a_type_is_whole(kind: WidgetType[Any]) -> None:
    assert type(kind).__module__ == f"{widgets.__name__}.{kind.name}"
    assert kind.title
    assert kind.description.endswith(".")
    assert 1 <= kind.width <= COLUMNS
    assert 1 <= kind.height <= MAX_HEIGHT


@pytest.mark.django_db
@every_type
def test_each_setting_but_the_filters_is_a_field_of_the_form(kind: WidgetType[Any], acme: Account) -> None:
    with account_scope(acme):
        shown = [field.name for field in fields_of(kind, None)]

    assert shown == [field.name for field in fields(kind.config) if field.name != "filters"]
    assert {setting.name for setting in kind.settings} <= set(shown)
