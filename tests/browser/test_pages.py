"""Every page, narrow and wide, light and dark: nothing overflows, every control has a name, charts are drawn."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.layout import LAYOUT_SHIFTS, MAX_LAYOUT_SHIFT, WIDTHS, layout_faults, layout_shift

pytestmark = pytest.mark.browser

PAGES = [
    "/a/acme/",
    "/a/acme/?trend=days",
    "/a/acme/dashboards/",
    "/a/acme/dashboards/new/",
    "/a/acme/dashboards/1/",
    "/a/acme/dashboards/1/edit/",
    "/a/acme/dashboards/1/widgets/new/",
    "/a/acme/dashboards/1/widgets/new/?type=budget_status",
    "/a/acme/dashboards/widgets/1/edit/",
    "/a/acme/cost-explorer/",
    "/a/acme/cost-explorer/?period=last_6_months&granularity=month&group_by=service&group_by=tag:env&f0=region&f0v=eu-west-1",
    "/a/acme/cost-explorer/?period=last_30_days&granularity=day&f0=service&f0v=BigQuery&f1=resource&f1v=(none)",
    "/a/acme/cost-explorer/?period=today&group_by=service",
    "/a/acme/cost-explorer/views/",
    "/a/acme/cost-explorer/views/new/?period=last_30_days",
    "/a/acme/dashboards/add/?start_date=2026-01-01&end_date=2026-01-31&group_by=service",
    "/a/acme/commitments/",
    "/a/acme/commitments/?period=last_6_months&granularity=month&group_by=type",
    "/a/acme/spend-change/",
    "/a/acme/spend-change/?period=last_3_months&compare_to=previous_period&group_by=service&group_by=region&limit=20",
    "/a/acme/forecast/",
    "/a/acme/forecast/?period=next_days&days=180&group_by=team&splits=after&f0=service&f0v=BigQuery",
    "/a/acme/budgets/",
    "/a/acme/budgets/new/",
    "/a/acme/budgets/new/?scope=cost_tag&period=yearly",
    "/a/acme/unit-economics/",
    "/a/acme/unit-economics/?usage_metric=seats&period=last_3_months&granularity=month&mode=per_customer&f0=service&f0v=BigQuery",
    "/a/acme/unit-economics/?usage_metric=unheard&customers=globex",
    "/a/acme/unit-economics/saved/",
    "/a/acme/unit-economics/saved/new/?usage_metric=requests&per=1000&f0=service&f0v=BigQuery",
    "/a/acme/unit-economics/saved/1/edit/",
    "/a/acme/teams/",
    "/a/acme/teams/key/",
    "/a/acme/teams/new/",
    "/a/acme/teams/1/",
    "/a/acme/teams/1/edit/",
    "/a/acme/settings/customers/",
    "/a/acme/cost-tags/",
    "/a/acme/cost-tags/1/",
    "/a/acme/cost-tags/1/?period=last_6_months&granularity=month&group_by=account&splits=after",
    "/a/acme/cost-tags/1/edit/",
    "/a/acme/cost-tags/new/",
    "/a/acme/cost-tags/import/",
    "/a/acme/cost-tags/recommendations/",
    "/a/acme/cost-tags/recommendations/?kind=keys",
    "/a/acme/shared-costs/",
    "/a/acme/shared-costs/new/",
    "/a/acme/shared-costs/1/?period=last_30_days",
    "/a/acme/shared-costs/2/",
    "/a/acme/shared-costs/2/edit/",
    "/a/acme/anomalies/",
    "/a/acme/anomalies/settings/",
    "/a/acme/alerts/",
    "/a/acme/alerts/subscriptions/1/",
    "/a/acme/alerts/subscriptions/2/",
    "/a/acme/alerts/subscriptions/1/edit/",
    "/a/acme/alerts/subscriptions/2/edit/",
    "/a/acme/alerts/subscriptions/new/",
    "/a/acme/alerts/subscriptions/new/?trigger=anomaly&scope=cost_tag&cost_tag=1",
    "/a/acme/alerts/subscriptions/new/?trigger=digest",
    "/a/acme/alerts/channels/",
    "/a/acme/alerts/channels/1/",
    "/a/acme/alerts/channels/2/",
    "/a/acme/alerts/channels/2/edit/",
    "/a/acme/alerts/channels/new/",
    "/a/acme/alerts/channels/new/?kind=email",
    "/a/acme/alerts/channels/new/?kind=pagerduty",
    "/a/acme/alerts/deliveries/",
    "/a/acme/alerts/deliveries/1/",
    "/a/acme/savings/",
    "/a/acme/savings/import/",
    "/a/acme/usage/",
    "/a/acme/usage/?usage_metric=seats&period=last_90_days&granularity=week&group_by=dimension:region&f0=customer&f0v=globex",
    "/a/acme/customers/",
    "/a/acme/customers/1/",
    "/a/acme/connections/",
    "/a/acme/connections/health/",
    "/a/acme/connections/upload/",
    "/a/acme/connections/1/",
    "/a/acme/connections/?state=failing",
    "/a/acme/connections/new/",
    "/a/acme/connections/new/?q=nothing+like+it",
    "/a/acme/connections/new/?connector=folder",
    "/a/acme/connections/new/push/",
    "/a/acme/connections/api/",
    "/a/acme/connections/2/",
    "/a/acme/connections/3/",
    "/a/acme/connections/3/syncs/",
    "/a/acme/connections/3/edit/",
    "/a/acme/connections/syncs/1/",
    "/a/acme/connections/syncs/5/",
    "/a/acme/connections/syncs/6/",
    "/a/acme/connections/usage/",
    "/a/acme/connections/usage/new/",
    "/a/acme/connections/usage/1/",
    "/a/acme/connections/usage/api/",
    "/a/acme/assistant-activity/",
    "/a/acme/assistant-activity/?days=7&credential=mcp_key:1&q=env&sort=-milliseconds",
    "/a/acme/assistant-activity/1/",
    "/a/acme/settings/metrics/",
    "/a/acme/settings/usage/",
    "/a/acme/settings/connected-apps/",
    "/a/acme/settings/mcp-keys/",
    "/a/acme/settings/mcp-keys/new/",
    "/a/acme/settings/members/",
    "/a/acme/settings/cost-view/",
    "/a/acme/settings/glossary/",
    "/a/acme/settings/account/",
    "/a/acme/settings/audit-log/",
    "/accounts/new/",
    "/auth/profile/",
    "/auth/email/",
    "/auth/sessions/",
    "/auth/security-log/",
    "/auth/password/change/",
    "/auth/2fa/",
    "/auth/2fa/totp/activate/",
    "/auth/2fa/webauthn/add/",
]
OPEN_PAGES = ["/auth/login/", "/auth/signup/", "/auth/password/reset/"]

# What a screen reader would stumble over: controls without a name, ids twice, headings and tables without a name.
FAULTS = """() => {
  const faults = [];
  const named = (node) => node.getAttribute("aria-label") || node.getAttribute("aria-labelledby") || node.title
    || (node.labels && node.labels.length) || node.textContent.trim();
  for (const node of document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, progress"))
    if (!named(node) && node.getAttribute("aria-hidden") !== "true") faults.push(`no name: ${node.outerHTML.slice(0, 120)}`);
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) faults.push(`id twice: ${id}`);
  if (document.querySelectorAll("h1").length !== 1) faults.push(`${document.querySelectorAll("h1").length} h1`);
  if (!document.querySelector("main")) faults.push("no main");
  for (const table of document.querySelectorAll("main table")) if (!table.caption) faults.push("a table without caption");
  for (const node of document.querySelectorAll("[style]")) if (!node.closest("[data-chart], .dropdown-menu")) faults.push(`inline style: ${node.outerHTML.slice(0, 120)}`);
  return faults;
}"""


def overflow(page: Page) -> int:
    width = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert isinstance(width, int)
    return width


@pytest.mark.parametrize(
    ("width", "theme", "widths"),
    [(390, "dark", (390, 1440)), pytest.param(1280, "light", WIDTHS, marks=pytest.mark.long)],
)
def test_every_page_fits_keeps_still_and_is_named(
    new_page: NewPage, width: int, theme: str, widths: tuple[int, ...]
) -> None:
    """At `widths` it is the same page, given other room: it is not asked for again."""
    page = new_page("owner", width=width, theme=theme)
    page.add_init_script(LAYOUT_SHIFTS)
    faults_by_path = {}
    for path in PAGES:
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 200, path
        expect(page.locator("[data-chart]:not([data-drawn])")).to_have_count(0)
        faults = page.evaluate(FAULTS)
        if over := overflow(page):
            faults.append(f"{over} pixels too wide")
        if (shift := layout_shift(page)) >= MAX_LAYOUT_SHIFT:
            faults.append(f"layout shift {shift:.3f}")
        faults += layout_faults(page, widths)
        page.set_viewport_size({"width": width, "height": 800})
        if faults:
            faults_by_path[path] = faults
    assert not faults_by_path, json.dumps(faults_by_path, indent=1)


@pytest.mark.parametrize("width", [390, 1280])
def test_every_page_before_sign_in_fits_and_is_named(new_page: NewPage, width: int) -> None:
    page = new_page(width=width)
    faults_by_path = {}
    for path in OPEN_PAGES:
        page.goto(path)
        if faults := [*page.evaluate(FAULTS), *[f"{over} too wide" for over in [overflow(page)] if over]]:
            faults_by_path[path] = faults
    assert faults_by_path == {}


def test_the_theme_follows_the_system_until_it_is_chosen_and_then_stays(new_page: NewPage) -> None:
    page = new_page("viewer", theme="dark")
    page.goto("/a/acme/")
    html = page.locator("html")
    expect(html).to_have_attribute("data-bs-theme", "dark")

    page.get_by_role("button", name="Switch between light and dark").click()
    expect(html).to_have_attribute("data-bs-theme", "light")
    page.reload()

    expect(html).to_have_attribute("data-bs-theme", "light")
    expect(page.locator("[data-drawn] canvas").first).to_be_visible()


def test_a_dark_page_is_printed_on_white(new_page: NewPage) -> None:
    page = new_page("viewer", theme="dark")
    page.goto("/a/acme/")
    html = page.locator("html")

    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(html).to_have_attribute("data-bs-theme", "light")

    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(html).to_have_attribute("data-bs-theme", "dark")


def test_a_printed_list_has_no_search(new_page: NewPage) -> None:
    page = new_page("owner")
    page.goto("/a/acme/settings/audit-log/")
    expect(page.locator(".list-tools")).to_be_visible()

    page.emulate_media(media="print")

    expect(page.locator(".list-tools")).to_be_hidden()


def test_the_first_tab_skips_to_the_content(new_page: NewPage) -> None:
    page = new_page("viewer")
    page.goto("/a/acme/")

    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.locator("#content")).to_be_focused()


def test_a_form_that_came_back_begins_at_what_it_refuses(new_page: NewPage) -> None:
    page = new_page("admin")
    page.goto("/a/acme/settings/members/")
    email = page.get_by_label("Email")
    email.fill("owner@example.com")

    page.get_by_role("button", name="Send invitation").click()

    expect(page.get_by_text("owner@example.com is already a member.")).to_be_visible()
    expect(email).to_be_focused()
    expect(email).to_have_accessible_description(
        "The invitation link is valid for 7 days. owner@example.com is already a member."
    )


def test_a_narrow_page_hides_its_navigation_behind_a_button(new_page: NewPage) -> None:
    page = new_page("viewer", width=390)
    page.goto("/a/acme/")
    link = page.get_by_role("link", name="Cost explorer")
    expect(link).to_be_hidden()

    page.get_by_role("button", name="Show or hide the navigation").click()
    link.click()

    expect(page.get_by_role("heading", name="Cost explorer")).to_be_visible()


def test_the_navigation_names_its_groups_and_shows_where_one_is(new_page: NewPage) -> None:
    page = new_page("owner")
    page.goto("/a/acme/settings/audit-log/")

    current = page.get_by_role("navigation", name="Main").get_by_role("link", name="Settings")
    expect(current).to_have_attribute("aria-current", "page")
    expect(current).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("list", name="Costs").get_by_role("link")).to_have_count(6)


TRANSITIONS = """() => [...document.querySelectorAll("*")].filter((node) => {
  const { transitionProperty, transitionDuration, animationName } = getComputedStyle(node);
  return (transitionProperty !== "none" && transitionDuration !== "0s") || animationName !== "none";
}).length"""


def test_animations_are_off_for_a_person_who_prefers_less_motion(new_page: NewPage) -> None:
    """Thousands of transitions, however short, took a page of 100 rows half a minute to draw at another width."""
    page = new_page("owner")
    page.goto("/a/acme/settings/audit-log/")

    assert page.evaluate(TRANSITIONS) == 0
    page.emulate_media(reduced_motion="no-preference")
    assert 0 < page.evaluate(TRANSITIONS) < 100


BADGES = """(theme) => {
  document.documentElement.setAttribute("data-bs-theme", theme);
  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const luminance = (...layers) => {
    for (const layer of layers) (pixel.fillStyle = layer), pixel.fillRect(0, 0, 1, 1);
    const [red, green, blue] = [...pixel.getImageData(0, 0, 1, 1).data].map((value) => light(value / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const card = document.querySelector("main .card");
  const ground = getComputedStyle(card).backgroundColor;
  return ["red", "orange", "yellow", "green", "teal", "blue", "azure", "purple", "secondary"].filter((tint) => {
    const badge = Object.assign(document.createElement("span"), { className: `badge bg-${tint}-lt`, textContent: tint });
    card.append(badge);
    const { color, backgroundColor } = getComputedStyle(badge);
    const [behind, text] = [luminance(ground, backgroundColor), luminance(ground, backgroundColor, color)];
    return (Math.max(behind, text) + 0.05) / (Math.min(behind, text) + 0.05) < 4.5;
  });
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_badges_have_contrast_to_their_background(new_page: NewPage, theme: str) -> None:
    page = new_page("viewer", theme=theme)
    page.goto("/a/acme/")

    assert page.evaluate(BADGES, theme) == []


def test_a_person_in_two_accounts_switches_between_them(new_page: NewPage) -> None:
    page = new_page("both")
    page.goto("/a/acme/")

    page.get_by_role("button", name="Account Acme: switch account").click()
    page.get_by_role("link", name="Elsewhere").click()

    expect(page.get_by_role("button", name="Account Elsewhere: switch account")).to_be_visible()


def test_an_unsure_click_on_revoke_can_be_taken_back(new_page: NewPage) -> None:
    page = new_page("member")
    page.goto("/a/acme/settings/mcp-keys/new/")
    page.get_by_label("Name").fill("Precious")
    page.get_by_role("button", name="Create key").click()
    page.get_by_role("link", name="Done").click()

    page.get_by_role("button", name="Revoke Precious").click()
    page.keyboard.press("Escape")

    expect(page.get_by_role("row", name="Precious")).to_contain_text("Active")


def test_reloading_the_page_that_shows_a_key_makes_no_second_one(new_page: NewPage) -> None:
    page = new_page("admin")
    page.goto("/a/acme/settings/mcp-keys/new/")
    page.get_by_label("Name").fill("Once only")
    page.get_by_role("button", name="Create key").click()
    expect(page.get_by_label("Your new key")).to_be_visible()

    page.reload()

    expect(
        page.get_by_text(
            "The key was already created, and a key is shown only once. If you "
            "did not copy it, revoke it and create a new one."
        )
    ).to_be_visible()
    expect(page.get_by_role("row", name="Once only")).to_have_count(1)
