"""Settings → MCP keys: the list, a new key shown once, revoking one."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.forms import NewKeyForm, take_error
from accounts.keys import mint_mcp_key, revoke_mcp_key
from accounts.models import MCPKey, Membership, Role
from accounts.page_access import AccountRequest, account_page
from accounts.security.reauthentication import reauthenticate_first
from accounts.snippets import ASSISTANT_PROMPTS, snippets_for
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListPage

KEYS = ListPage[MCPKey](
    name="mcp-keys",
    title="MCP keys",
    noun="key",
    order="-created",
    actions="Revoke",
    muted=lambda key: key.state != "active",
    columns=[
        Column("name", "Name", lambda key: key.name, css="cell-name"),
        Column("scope", "Scope", lambda key: key.get_scope_display(), css="nowrap"),
        Column("key", "Key", lambda key: key.masked_key, shown=False),
        Column("by", "Created by", lambda key: key.created_by_label, shown=False),
        Column("created", "Created", lambda key: key.created_at, css="cell-name"),
        Column("used", "Last used", lambda key: key.last_used_at, css="cell-client"),
        Column("client", "Last client", lambda key: key.last_client, shown=False),
        Column("state", "State", lambda key: key.state, css="nowrap"),
        Column("expires", "Expires", lambda key: key.expires_at, shown=False),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    keys = list(MCPKey.objects.select_related("created_by"))
    members = set(Membership.objects.filter(account=request.account).values_list("user_id", flat=True))
    orphaned_key_ids = {
        key.pk for key in keys if key.created_by_id is not None and key.created_by_id not in members
    }
    context = {"gone": orphaned_key_ids, "mcp_url": f"{settings.PUBLIC_URL}/api/mcp"}
    return KEYS.response(request, keys, "accounts/keys.html", context)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    """Show the form, and on POST the new key: the only response with its plaintext.

    A form creates one key. A reload or a second click creates no second key.
    """
    if request.method != "POST":
        return _form_page(request, NewKeyForm(request.account))
    form = NewKeyForm(request.account, request.POST)
    if not form.is_valid():
        return _form_page(request, form)
    if form.cleaned_data["scope"] == MCPKey.Scope.READ_WRITE:
        reauthenticate_first(request)
    if not form.claim(request.user):
        messages.warning(
            request,
            "The key was already created, and a key is shown only once. If you did not copy it, "
            "revoke it and create a new one.",
        )
        return redirect("mcp_keys", slug=request.account.slug)
    try:
        with transaction.atomic():
            # Locked, so that a concurrent removal of the member waits and then finds the key.
            get_object_or_404(Membership.objects.select_for_update(), pk=request.membership.pk)
            key, plaintext = mint_mcp_key(
                account=request.account,
                actor=request.actor,
                name=form.cleaned_data["name"],
                scope=form.cleaned_data["scope"],
                expires_at=form.cleaned_data["expires_on"],
                limit=form.cleaned_data.get("limit", ""),
            )
    except (UserError, ValidationError) as error:
        form.release(request.user)
        take_error(form, error)
        return _form_page(request, form)
    return _minted_page(request, key, plaintext)


def _form_page(request: AccountRequest, form: NewKeyForm) -> HttpResponse:
    return render(request, "accounts/key_new.html", {"form": form}, status=422 if form.errors else 200)


def _minted_page(request: AccountRequest, key: MCPKey, plaintext: str) -> HttpResponse:
    url = f"{settings.PUBLIC_URL}/api/mcp"
    context = {
        "key": key,
        "plaintext": plaintext,
        "mcp_url": url,
        "snippets": snippets_for(url, plaintext),
        "prompts": ASSISTANT_PROMPTS,
    }
    return render(request, "accounts/key_minted.html", context)


@account_page(Role.MEMBER)
@require_POST
def revoke(request: AccountRequest, key_id: int) -> HttpResponse:
    key = get_object_or_404(MCPKey.objects.all(), pk=key_id)
    revoke_mcp_key(key=key, actor=request.actor)
    messages.success(request, f"Key {key.name} revoked.")
    return redirect("mcp_keys", slug=request.account.slug)
