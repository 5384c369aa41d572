from __future__ import annotations

from django.urls import path

from accounts.views import accounts, invitations

urlpatterns = [
    path("new/", accounts.create, name="account_create"),
    path("invitations/<str:token>/", invitations.show, name="invitation"),
    path("invitations/<str:token>/accept/", invitations.accept, name="invitation_accept"),
    path("invitations/<str:token>/decline/", invitations.decline, name="invitation_decline"),
]
