"""Settings → Connected apps: the clients that people connected by signing in, and disconnecting one."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from accounts.models import OAuthConnection, Role
from accounts.oauth.queries import ConnectedApp, connected_apps
from accounts.oauth.redirects import is_loopback
from accounts.oauth.services import disconnect
from accounts.page_access import AccountRequest, account_page
from accounts.snippets import ASSISTANT_PROMPTS, hints_for
from finops.lib.listing import Column, ListPage

APPS = ListPage[ConnectedApp](
    name="connected-apps",
    title="Connected apps",
    noun="app",
    order="-connected",
    actions="Disconnect",
    muted=lambda app: app.state != "connected",
    columns=[
        Column("app", "App", lambda app: app.title),
        Column("name", "Unverified name", lambda app: app.name, shown=False),
        Column("account", "Account", lambda app: app.account, shown=False),
        Column("access", "Access", lambda app: app.access_label, css="nowrap"),
        Column("person", "Connected by", lambda app: app.person, shown=False),
        Column("connected", "Connected", lambda app: app.connected_at, css="cell-client"),
        Column("used", "Last used", lambda app: app.last_used_at, css="cell-client"),
        Column("client", "Last client", lambda app: app.last_client, shown=False),
        Column("state", "State", lambda app: app.state_label, css="nowrap"),
        Column("id", "Client ID", lambda app: app.client_id, shown=False),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """List a person's own connections; an admin sees those of all members."""
    everybody = request.membership.may(Role.ADMIN)
    apps = connected_apps(request.account, of=None if everybody else request.user)
    url = f"{settings.PUBLIC_URL}/api/mcp"
    context = {
        "everybody": everybody,
        "mcp_url": url,
        "mcp_url_is_local": is_loopback(url),
        "hints": hints_for(url),
        "prompts": ASSISTANT_PROMPTS,
    }
    return APPS.response(request, apps, "accounts/connected_apps.html", context)


@account_page()
@require_POST
def end(request: AccountRequest, connection_id: int) -> HttpResponse:
    """Disconnect an app: members, viewers too, their own. Raises PermissionDenied for another person's, except to an admin."""
    connection = get_object_or_404(OAuthConnection.objects.all(), pk=connection_id)
    if connection.user_id != request.user.pk and not request.membership.may(Role.ADMIN):
        raise PermissionDenied("Only admins and owners can disconnect other people's apps.")
    disconnect(connection=connection, actor=request.actor)
    messages.success(request, "App disconnected.")
    return redirect("connected_apps", slug=request.account.slug)
