from __future__ import annotations

from django.urls import path

from finops.help import views

urlpatterns = [
    path("help/how-we-count/", views.how_we_count, name="how_we_count"),
    path("help/glossary/", views.glossary, name="help_glossary"),
]

public_urlpatterns = [
    path("llms.txt", views.llms_txt, name="llms_txt"),
    path("docs/<slug:name>.md", views.document, name="document"),
]
