from __future__ import annotations

import pytest
from django.db import models

from accounts.models import MCPKey
from accounts.scoping import AccountModel, NoAccountInScope, account_scope, current_account
from tests.cast import Cast
from tests.isolation.discovery import our_models

# Models that belong to no single account, each with its reason.
GLOBAL = {
    "User": "a person may belong to several accounts",
    "Account": "the tenant itself",
    "AccountDeletion": "outlives the account, for operators alone",
    "Membership": "resolves who may enter, before an account is in scope",
    "Session": "of a browser, before anybody is signed in",
    "SecurityEvent": "of a person, who may belong to several accounts",
    "BackupRun": "of the whole service, seen by operators alone",
    "IdentityProvider": "of one account or of the whole service, and asked before anybody is signed in",
    "EmailDomain": "has one owner in the whole service",
    "Identity": "of a person, who may belong to several accounts",
    "SignInAttempt": "of a browser, before anybody is signed in",
    "ClientAssertion": "of a client, before an account is known",
    "AssertionClient": "of a provider, and asked before an account is known",
    "IdentityAssertion": "of a provider, before an account is known",
    "SamlAssertion": "of a provider, before anybody is signed in",
    "UnsentMail": "of sign-up and password reset, which come before an account",
    "OAuthApplication": "a client is known to the server, not to one account",
    "OAuthGrant": "queried by django-oauth-toolkit before an account is known; carries one",
    "OAuthAccessToken": "queried by django-oauth-toolkit before an account is known; carries one",
    "OAuthRefreshToken": "queried by django-oauth-toolkit before an account is known; carries one",
    "OAuthIDToken": "of django-oauth-toolkit; unused",
    "OAuthDeviceGrant": "of django-oauth-toolkit; unused",
}

OWNED = [model for model in our_models() if issubclass(model, AccountModel)]


def test_every_model_belongs_to_an_account_or_says_why_not() -> None:
    undecided = (
        {model.__name__ for model in our_models()} - {model.__name__ for model in OWNED} - GLOBAL.keys()
    )

    assert undecided == set()


@pytest.mark.parametrize("model", OWNED, ids=lambda model: model.__name__)
def test_without_an_account_in_scope_a_query_raises(model: type[models.Model]) -> None:
    with pytest.raises(NoAccountInScope):
        model._default_manager.all()


@pytest.mark.parametrize("model", OWNED, ids=lambda model: model.__name__)
def test_in_scope_a_query_names_the_account(cast: Cast, model: type[models.Model]) -> None:
    with account_scope(cast.account):
        where = str(model._default_manager.all().query).split("WHERE")[-1]

    assert f'"account_id" = {cast.account.pk}' in where


def test_the_rows_of_another_account_are_not_there(cast: Cast) -> None:
    with account_scope(cast.account):
        own_key = MCPKey.objects.create(name="mine", lookup="0000000000", digest=b"x", created_by_label="t")

    with account_scope(cast.other_account):
        assert not MCPKey.objects.exists()
        with pytest.raises(MCPKey.DoesNotExist):
            MCPKey.objects.get(pk=own_key.pk)


def test_scopes_nest_and_end(cast: Cast) -> None:
    with account_scope(cast.account):
        with account_scope(cast.other_account):
            assert current_account() == cast.other_account
        assert current_account() == cast.account
    with pytest.raises(NoAccountInScope):
        current_account()
