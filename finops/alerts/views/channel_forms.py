"""Create, change and delete a channel, and show its signing secret once."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.alerts import services
from finops.alerts.forms import ChannelForm
from finops.alerts.models import AlertChannel
from finops.alerts.snippets import KINDS, verification_snippets
from finops.alerts.views.channel_return import TYPED, subscription_url
from finops.alerts.views.channels import channel_of


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    """Show the kinds, or with `?kind=` the form of one. A POST creates one; a webhook's response shows its secret."""
    kind = request.GET.get("kind", "")
    if kind not in AlertChannel.Kind.values:
        context = {"kinds": list(KINDS.values()), "typed": request.GET.get(TYPED, "")}
        return render(request, "alerts/channel_kinds.html", context)
    if request.method != "POST":
        return _form_page(request, ChannelForm(kind))
    form = ChannelForm(kind, request.POST)
    if form.is_valid():
        with FormErrors(form):
            channel, secret = services.create_channel(
                account=request.account,
                actor=request.actor,
                name=form.cleaned_data["name"],
                kind=kind,
                target=form.target() or {},
            )
            return _show_secret_or_redirect(request, channel, secret)
    return _form_page(request, form, status=422)


def _show_secret_or_redirect(request: AccountRequest, channel: AlertChannel, secret: str) -> HttpResponse:
    back = subscription_url(request, channel.pk)
    if secret:
        return _secret_page(request, channel, secret, back=back)
    messages.success(request, f"Channel “{channel.name}” created. Send a test to check it.")
    if back:
        return redirect(back)
    return redirect("alert_channel", slug=request.account.slug, channel_id=channel.pk)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: AccountRequest, channel_id: int) -> HttpResponse:
    channel = channel_of(channel_id)
    if request.method != "POST":
        return _form_page(request, ChannelForm(channel.kind, channel=channel, initial={"name": channel.name}))
    form = ChannelForm(channel.kind, request.POST, channel=channel)
    if form.is_valid():
        with FormErrors(form):
            services.change_channel(
                channel=channel, actor=request.actor, name=form.cleaned_data["name"], target=form.target()
            )
            messages.success(request, "Channel updated.")
            return redirect("alert_channel", slug=request.account.slug, channel_id=channel.pk)
    return _form_page(request, form, status=422)


@account_page(Role.MEMBER)
@require_POST
def secret(request: AccountRequest, channel_id: int) -> HttpResponse:
    """Create a new signing secret and show it in this response only."""
    channel = channel_of(channel_id)
    with ErrorMessages(request):
        new_secret = services.regenerate_signing_secret(channel=channel, actor=request.actor)
        return _secret_page(request, channel, new_secret, renewed=True)
    return redirect("alert_channel", slug=request.account.slug, channel_id=channel.pk)


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, channel_id: int) -> HttpResponse:
    channel = channel_of(channel_id)
    with ErrorMessages(request):
        services.delete_channel(channel=channel, actor=request.actor)
        messages.success(request, f"Channel “{channel.name}” and its subscriptions deleted.")
    return redirect("alert_channels", slug=request.account.slug)


def _secret_page(
    request: AccountRequest, channel: AlertChannel, plaintext: str, *, renewed: bool = False, back: str = ""
) -> HttpResponse:
    """Render the secret. `back`: the form of the subscription that the channel was created for."""
    context = {
        "channel": channel,
        "back": back,
        "plaintext": plaintext,
        "renewed": renewed,
        "snippets": verification_snippets(plaintext),
    }
    return render(request, "alerts/secret_shown.html", context)


def _form_page(request: AccountRequest, form: ChannelForm, *, status: int = 200) -> HttpResponse:
    kind = KINDS[form.kind]
    context: dict[str, Any] = {"form": form, "edited": form.channel, "kind": kind, "noun": "channel"}
    return render(request, "alerts/channel_form.html", context, status=status)
