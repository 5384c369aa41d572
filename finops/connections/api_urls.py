"""URLs of `/api/costs`, which programs call with the key of a cost source. The last pattern matches every other path below it."""

from __future__ import annotations

from django.urls import path, re_path

from finops.connections.views import push, push_openapi

urlpatterns = [
    path("api/costs/pushes", push.Pushes.as_view(), name="cost_pushes"),
    path("api/costs/pushes/<str:push_id>", push.OnePush.as_view(), name="cost_push"),
    path("api/costs/pushes/<str:push_id>/parts/<str:number>", push.Part.as_view(), name="cost_push_part"),
    path("api/costs/pushes/<str:push_id>/commit", push.Commit.as_view(), name="cost_push_commit"),
    path("api/costs/months/<str:month>", push.Month.as_view(), name="cost_push_month"),
    path("api/costs/openapi.json", push_openapi.openapi, name="cost_openapi"),
    re_path(r"^api/costs/", push.NoPath.as_view(), name="cost_push_no_path"),
]
