"""An access token at the MCP door: found, checked and its use noted in one statement."""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime

from django.db import connection as database

from accounts.models import Account, OAuthApplication, OAuthConnection, Role, User
from accounts.oauth.provider import WRITE_SCOPE
from accounts.oauth.resource import resource
from accounts.oauth.tokens import ACCESS_PREFIX, checksum, looks_like
from finops.lib import clock


@dataclasses.dataclass(frozen=True)
class TokenUse:
    """A living token: whose connection it is, and whether it may write now."""

    connection: OAuthConnection
    may_write: bool


# A token counts for its audience, while its connection stands and the person is a member. `resource` is compared
# whole: an empty one, or one with another entry, is not ours. Last use as in accounts/keys.py. In three steps, since
# PostgreSQL plans one join of these seven in 2 ms and this in 0.3; it plans anew each time.
_USE = """
WITH async_commit AS (SELECT set_config('synchronous_commit', 'off', true)),
token AS MATERIALIZED (
  SELECT connection_id, scope
    FROM accounts_oauthaccesstoken
   WHERE token_checksum = %(checksum)s AND expires > %(now)s AND resource = %(resource)s::jsonb
),
used AS (
  UPDATE accounts_oauthconnection c
     SET last_used_at = %(now)s, last_client = CASE WHEN %(client)s = '' THEN c.last_client ELSE %(client)s END
    FROM token, async_commit, accounts_membership m
   WHERE c.id = token.connection_id AND m.account_id = c.account_id AND m.user_id = c.user_id
  RETURNING c.id, c.access, c.session_had_factor, token.scope, m.role, m.created_at AS joined_at, c.user_id, c.application_id, c.account_id
)
SELECT c.id, c.access, c.scope, c.role, u.id, u.email, u.name, p.id, p.client_id, p.name,
       a.id, a.name, a.slug, a.fiscal_start_month, a.holiday_country, a.display_currency,
       a.suspended_at, a.limits::text
  FROM used c
  JOIN accounts_user u ON u.id = c.user_id AND u.is_active
  JOIN accounts_account a ON a.id = c.account_id
  JOIN accounts_oauthapplication p ON p.id = c.application_id
 WHERE NOT a.second_factor_required OR c.session_had_factor
    OR GREATEST(a.second_factor_required_at, c.joined_at) + a.second_factor_grace_days * interval '1 day' > %(now)s
    OR EXISTS (SELECT FROM mfa_authenticator f WHERE f.user_id = c.user_id AND f.type IN ('totp', 'webauthn'))
"""


def use_access_token(token: str, *, client: str = "") -> TokenUse | None:
    """The use of a living access token of ours; None for anything else, at once where it cannot be one.

    Cost: one statement. What it may do is the least of what was consented to, what this token says (a refresh may
    have narrowed it), and what the person's role allows at this moment. None too while she lacks the second factor that
    the account demands.
    """
    if not looks_like(token, ACCESS_PREFIX):
        return None
    values: dict[str, str | datetime] = {
        "checksum": checksum(token),
        "resource": json.dumps([resource()]),
        "now": clock.now(),
        "client": client[:120],
    }
    with database.cursor() as cursor:
        cursor.execute(_USE, values)
        row = cursor.fetchone()
    if row is None:
        return None
    (pk, access, scope, role, *person), client_row, account_row = row[:7], row[7:10], row[10:]
    connection = OAuthConnection(
        id=pk,
        access=access,
        user=User(id=person[0], email=person[1], name=person[2]),
        application=OAuthApplication(id=client_row[0], client_id=client_row[1], name=client_row[2]),
        account=Account(
            id=account_row[0],
            name=account_row[1],
            slug=account_row[2],
            fiscal_start_month=account_row[3],
            holiday_country=account_row[4],
            display_currency=account_row[5],
            suspended_at=account_row[6],
            limits=json.loads(account_row[7]),
        ),
    )
    may_write = (
        access == OAuthConnection.Access.READ_WRITE
        and WRITE_SCOPE in scope.split()
        and Role(role).at_least(Role.MEMBER)
    )
    return TokenUse(connection, may_write)
