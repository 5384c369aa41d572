"""Client credentials of service accounts: who gets a token, for what, and what ends it."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from accounts.credentials import Access, authenticate_bearer
from accounts.models import AuditEntry, OAuthAccessToken, OAuthApplication, OAuthConnection, ServiceAccount
from accounts.oauth import service_accounts as services
from accounts.oauth.resource import resource
from accounts.oauth.service_accounts import create_service_account, delete_service_account, rotate_secret
from accounts.oauth.services import disconnect, sweep
from accounts.scoping import account_scope
from accounts.services import remove_member
from accounts.services.operators import end_access
from accounts.services.suspension import suspend_account
from finops.alerts.events.credentials import with_dead_credential
from finops.alerts.models import EventSubscription
from finops.cost_access.models import CostAccessAssignment
from finops.cost_access.queries import limits_of_credential
from finops.cost_access.services import create_limit
from finops.costs.spend_query import CostFilter
from finops.lib import clock
from finops.lib.errors import UserError
from tests.accounts.oauth.flow import OAuthClient, json_of, mcp_status, token_request
from tests.accounts.oauth.test_token import dump, secret_client
from tests.cast import ACTOR, Cast
from tests.mcpserver.mcp_client import McpClient


def create(cast: Cast, **fields: Any) -> tuple[ServiceAccount, str, str]:
    """A service account, its client ID and secret."""
    values = {"account": cast.account, "actor": cast.actor, "name": "CI agent", **fields}
    row, secret = create_service_account(**values)
    return row, row.connection.application.client_id, secret


def ask(client_id: str, secret: str, /, **changes: Any) -> Any:
    form = {
        "grant_type": "client_credentials",
        "client_id": client_id,
        "client_secret": secret,
        "resource": resource(),
        **changes,
    }
    return token_request(form)


def token_of(response: Any) -> str:
    assert response.status_code == 200, response.content
    token: str = json_of(response)["access_token"]
    return token


def test_a_service_account_gets_a_token_of_its_account_and_access(cast: Cast) -> None:
    row, client_id, secret = create(cast, access="read_write")

    answer = ask(client_id, secret)

    assert json_of(answer).keys() == {"access_token", "token_type", "expires_in", "scope"}
    assert json_of(answer)["scope"] == "mcp:read mcp:write"
    assert json_of(answer)["expires_in"] == 3600
    assert answer["Cache-Control"] == "no-store"
    credential = authenticate_bearer(token_of(answer), client="agent/1")
    assert credential is not None
    assert credential.account == cast.account
    assert credential.access is Access.READ_WRITE
    assert credential.label == "service account CI agent"
    assert credential.actor.user is None
    row.connection.refresh_from_db()
    assert (row.connection.last_client, row.connection.last_used_at is None) == ("agent/1", False)


def test_the_secret_may_come_in_the_header(cast: Cast) -> None:
    _row, client_id, secret = create(cast)
    basic = "Basic " + b64encode(f"{client_id}:{secret}".encode()).decode()

    answer = token_request({"grant_type": "client_credentials"}, authorization=basic)

    assert mcp_status(token_of(answer)) == 200
    assert OAuthAccessToken.objects.get().resource == [resource()]


@pytest.mark.parametrize(
    ("access", "scope", "granted"),
    [
        ("read", None, "mcp:read"),
        ("read", "mcp:read mcp:write", "mcp:read"),
        ("read", "mcp:write", "mcp:read"),
        ("read_write", "mcp:read", "mcp:read"),
        ("read", "", "mcp:read"),
        ("read", "openid mcp:read profile", "mcp:read"),
    ],
)
def test_a_token_has_only_the_requested_and_granted_scopes(
    cast: Cast, access: str, scope: str | None, granted: str
) -> None:
    _row, client_id, secret = create(cast, access=access)

    answer = ask(client_id, secret, scope=scope)

    assert json_of(answer)["scope"] == granted
    credential = authenticate_bearer(token_of(answer))
    assert credential is not None
    assert not credential.may_write


@pytest.mark.parametrize(
    ("changes", "status", "error"),
    [
        ({"client_secret": "wrong"}, 401, "invalid_client"),
        ({"client_secret": None}, 401, "invalid_client"),
        ({"client_secret": ""}, 401, "invalid_client"),
        ({"client_id": "unknown"}, 401, "invalid_client"),
        ({"client_id": None}, 401, "invalid_client"),
        ({"client_id": "nul\0"}, 401, "invalid_client"),
        ({"resource": "https://other.example/api/mcp"}, 400, "invalid_target"),
        ({"resource": [resource(), "https://other.example/"]}, 400, "invalid_target"),
        ({"scope": "admin"}, 400, "invalid_scope"),
        ({"grant_type": "authorization_code", "code": "x"}, 400, "unauthorized_client"),
        ({"grant_type": "refresh_token", "refresh_token": "x"}, 400, "unauthorized_client"),
        ({"connection": "1", "user": "1", "client": "1", "client_secret": "x"}, 401, "invalid_client"),
    ],
)
def test_a_wrong_request_gets_no_token(cast: Cast, changes: dict[str, Any], status: int, error: str) -> None:
    _row, client_id, secret = create(cast)

    answer = ask(client_id, secret, **changes)

    assert (answer.status_code, json_of(answer)["error"]) == (status, error)
    assert not OAuthAccessToken.objects.exists()


def test_a_client_of_people_gets_no_token_without_a_person(cast: Cast) -> None:
    client, secret = secret_client()
    client.code(cast.member)

    for answer in (ask(client.client_id, secret), ask(OAuthClient().client_id, "")):
        assert answer.status_code in {400, 401}
        assert json_of(answer)["error"] in {"unauthorized_client", "invalid_client"}
    assert not OAuthAccessToken.objects.exists()


def test_a_service_account_cannot_ask_a_person_to_sign_in(cast: Cast) -> None:
    _row, client_id, _secret = create(cast)

    answer = OAuthClient(client_id).consent(cast.member)

    assert answer.status_code == 400
    assert not OAuthConnection.objects.unscoped().filter(user=cast.member).exists()


def test_an_expired_one_gets_no_token_and_its_tokens_end_with_it(cast: Cast) -> None:
    row, client_id, secret = create(cast, expires_at=clock.now() + timedelta(minutes=5))
    token = token_of(ask(client_id, secret))

    ServiceAccount.objects.unscoped().filter(pk=row.pk).update(expires_at=clock.now())

    answer = ask(client_id, secret)
    assert (answer.status_code, json_of(answer)["error"]) == (400, "unauthorized_client")
    assert "has expired. Create a new one" in json_of(answer)["error_description"]
    assert mcp_status(token) == 401


def test_a_suspended_account_gives_no_token(cast: Cast) -> None:
    _row, client_id, secret = create(cast)
    token = token_of(ask(client_id, secret))

    suspend_account(account=cast.account, actor=ACTOR)

    assert "suspended" in json_of(ask(client_id, secret))["error_description"]
    assert mcp_status(token) == 403


def test_rotating_ends_the_old_secret_and_its_tokens(cast: Cast) -> None:
    row, client_id, old = create(cast)
    token = token_of(ask(client_id, old))

    new = rotate_secret(service_account=row, actor=cast.actor)

    assert json_of(ask(client_id, old))["error"] == "invalid_client"
    assert mcp_status(token) == 401
    assert mcp_status(token_of(ask(client_id, new))) == 200


@pytest.mark.parametrize("by", ["service", "disconnect", "application"])
def test_deleting_it_leaves_nothing(cast: Cast, by: str) -> None:
    row, client_id, secret = create(cast)
    token = token_of(ask(client_id, secret))

    if by == "service":
        delete_service_account(service_account=row, actor=cast.actor)
        delete_service_account(service_account=row, actor=cast.actor)
    elif by == "disconnect":
        disconnect(connection=row.connection, actor=cast.actor)
    else:
        row.connection.application.delete()

    assert mcp_status(token) == 401
    assert json_of(ask(client_id, secret))["error"] == "invalid_client"
    assert not ServiceAccount.objects.unscoped().exists()
    assert not OAuthConnection.objects.unscoped().exists()
    assert not OAuthApplication.objects.filter(client_id=client_id).exists()


def test_the_client_ends_a_token_by_revoking_it(cast: Cast) -> None:
    """RFC 7009: its own token alone, since other runs of the same agent have theirs."""
    _row, client_id, secret = create(cast)
    first, second = (token_of(ask(client_id, secret)) for _ in range(2))

    form = {"client_id": client_id, "client_secret": secret, "token": first}
    assert token_request(form, "/oauth/revoke").status_code == 200

    assert [mcp_status(token) for token in (first, second)] == [401, 200]


def test_a_service_account_outlives_its_creator_unless_the_operator_ends_all_access(cast: Cast) -> None:
    _row, client_id, secret = create(cast)
    with account_scope(cast.account):
        membership = cast.member.memberships.get(account=cast.account)
    remove_member(membership=membership, actor=ACTOR)

    assert mcp_status(token_of(ask(client_id, secret))) == 200

    end_access(user=cast.member, actor=ACTOR)

    assert json_of(ask(client_id, secret))["error"] == "invalid_client"


def test_a_second_factor_is_asked_of_people_alone(cast: Cast) -> None:
    _row, client_id, secret = create(cast)
    cast.account.second_factor_required = True
    cast.account.second_factor_required_at = clock.now() - timedelta(days=300)
    cast.account.save()

    assert mcp_status(token_of(ask(client_id, secret))) == 200


def test_the_sweep_takes_its_old_tokens_and_leaves_it(cast: Cast) -> None:
    _row, client_id, secret = create(cast)
    token_of(ask(client_id, secret))
    OAuthConnection.objects.unscoped().update(created_at=clock.now() - timedelta(days=100))
    OAuthAccessToken.objects.update(expires=clock.now() - timedelta(days=1))

    sweep()

    assert not OAuthAccessToken.objects.exists()
    assert mcp_status(token_of(ask(client_id, secret))) == 200


def test_no_secret_or_token_lies_in_the_database(cast: Cast) -> None:
    row, client_id, first = create(cast)
    token = token_of(ask(client_id, first))
    second = rotate_secret(service_account=row, actor=cast.actor)

    everything = dump()

    assert [text for text in (first, second, token) if text in everything] == []


def test_a_limit_of_cost_access_holds_for_it(cast: Cast) -> None:
    service = CostFilter(dimension="service", op="in", values=["Amazon S3"])
    limit = create_limit(account=cast.account, actor=ACTOR, name="S3", alternatives=[[service]])
    _row, client_id, secret = create(cast, limit=str(limit.pk))
    _other, other_id, other_secret = create(cast, name="Unlimited")

    limited, unlimited = (
        authenticate_bearer(token_of(ask(*pair))) for pair in ((client_id, secret), (other_id, other_secret))
    )

    assert limited is not None
    assert unlimited is not None
    assert limits_of_credential(limited) == [limit]
    assert limits_of_credential(unlimited) == []
    with account_scope(cast.account):
        assert CostAccessAssignment.objects.get().connection_id == limited.id


def test_a_subscription_to_events_lives_as_long_as_its_service_account(cast: Cast) -> None:
    row, _client_id, _secret = create(cast)
    with account_scope(cast.account):
        EventSubscription.objects.create(
            public_id="s",
            event=EventSubscription.Event.IMPORT_FINISHED,
            target="x",
            connection=row.connection,
            credential_label="service account CI agent",
            verified_at=clock.now(),
            expires_at=clock.now() + timedelta(days=1),
        )
        assert not with_dead_credential(EventSubscription.objects.all()).exists()

        ServiceAccount.objects.update(expires_at=clock.now())

        assert with_dead_credential(EventSubscription.objects.all()).exists()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": " "}, "Enter a name."),
        ({"name": "ci AGENT"}, "Another service account has this name."),
        ({"access": "admin"}, "not a valid choice"),
        ({"limit": "99999999"}, "Choose a limit from the list."),
        ({"expires_at": clock.now() - timedelta(days=1)}, "The expiry is in the past."),
    ],
)
def test_a_wrong_one_is_not_created(cast: Cast, fields: dict[str, Any], message: str) -> None:
    create(cast)
    clients = OAuthApplication.objects.count()

    with pytest.raises((ValidationError, UserError), match=message):
        create(cast, **{"name": "Another", **fields})

    assert OAuthApplication.objects.count() == clients


def test_an_account_has_a_maximum(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MAX_SERVICE_ACCOUNTS", 1)
    create(cast)

    with pytest.raises(UserError, match="The maximum is 1 service accounts"):
        create(cast, name="Another")


def test_each_change_is_in_the_audit_log(cast: Cast) -> None:
    row, client_id, _secret = create(cast)
    rotate_secret(service_account=row, actor=cast.actor)
    delete_service_account(service_account=row, actor=cast.actor)

    with account_scope(cast.account):
        entries = AuditEntry.objects.filter(action__startswith="service_account.").order_by("pk")
        actions = [(entry.action, entry.target, entry.detail["client_id"]) for entry in entries]
    assert actions == [
        (f"service_account.{verb}", "CI agent", client_id) for verb in ("create", "rotate_secret", "delete")
    ]


def test_the_metadata_names_the_grant_and_how_clients_authenticate() -> None:
    document = json.loads(Client().get("/.well-known/oauth-authorization-server").content)

    assert "client_credentials" in document["grant_types_supported"]
    assert "client_secret_basic" in document["token_endpoint_auth_methods_supported"]


def test_the_mcp_server_advertises_the_extension(cast: Cast) -> None:
    _row, client_id, secret = create(cast)

    capabilities = McpClient(token_of(ask(client_id, secret))).result("server/discover")["capabilities"]

    assert capabilities["extensions"]["io.modelcontextprotocol/oauth-client-credentials"] == {}
