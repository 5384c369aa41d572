"""A widget of text that a person writes."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from finops.dashboards.widget_type import Config, Setting, WidgetContext, WidgetType

Text = Annotated[str, Meta(max_length=2000)]


class TextConfig(Config, frozen=True, kw_only=True):
    __doc__ = None
    text: Annotated[Text, Meta(description="Plain; blank lines part paragraphs.")] = ""


class TextWidget(WidgetType[TextConfig]):
    name = "text"
    title = "Text"
    description = "A heading, note or link."
    config = TextConfig
    order, width, height = 130, 12, 2
    settings = (
        Setting("text", "Text", "textarea", help="A blank line begins a new paragraph.", may_be_empty=True),
    )
    has_data = False

    def read(self, context: WidgetContext[TextConfig]) -> dict[str, Any]:
        return {"text": context.config.text}
