from __future__ import annotations

from django.urls import path

from finops.notifications import views

urlpatterns = [
    path("notifications/", views.index, name="notifications"),
    path("notifications/newest/", views.newest, name="notifications_newest"),
]

# A person's own, below /accounts/: a viewer marks notifications as read and changes nothing of the account.
personal_urlpatterns = [
    path("read/", views.read_all, name="notifications_read"),
    path("<int:notification_id>/", views.open_one, name="notification"),
]
