"""Layout faults of a page at a width, as a person would see them: clipped, covered or cut off content."""

from __future__ import annotations

from playwright.sync_api import Page

WIDTHS = (390, 768, 1024, 1440, 1920)
HEIGHT = 900

NEXT_FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""A promise of two frames: charts are resized a frame after the page."""

MAX_LAYOUT_SHIFT = 0.05

LAYOUT_SHIFTS = """
window.layoutShift = 0;
new PerformanceObserver((list) => {
  for (const shift of list.getEntries()) if (!shift.hadRecentInput) window.layoutShift += shift.value;
}).observe({ type: "layout-shift", buffered: true });
"""
"""For `add_init_script`: the sum of layout shifts since the page began to load, without those caused by a person's
input."""

IS_LOADED = "() => !document.querySelector('.htmx-request, .htmx-settling')"
"""A condition: the parts that htmx loads after the page have arrived."""

# Texts and controls are compared with each other; the boxes around them are not, because boxes may be nested.
FAULTS_OF_LAYOUT = """() => {
  const faults = [];
  const doc = document.documentElement;
  if (doc.scrollWidth > doc.clientWidth) faults.push(`${doc.scrollWidth - doc.clientWidth} px too wide`);
  const short = (node) => {
    const name = node.tagName.toLowerCase() + (node.id ? `#${node.id}` : "") + (typeof node.className === "string" && node.className ? `.${node.className.trim().split(/\\s+/).slice(0, 3).join(".")}` : "");
    return `${name} "${(node.textContent || node.value || "").trim().replace(/\\s+/g, " ").slice(0, 50)}"`;
  };
  const skipped = "svg, canvas, [data-chart], .visually-hidden, .dropdown-menu:not(.show), [hidden], .skip-link, template, option, dialog:not([open]), .offcanvas:not(.show), [popover]";
  const isShown = (node) => node.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true });
  const scrolls = (node) => {
    const { overflowX, overflowY } = getComputedStyle(node);
    return /(auto|scroll)/.test(overflowX + overflowY);
  };
  const nodes = [...document.body.querySelectorAll("*")].filter((node) => !node.closest(skipped) && isShown(node));

  for (const node of nodes) {
    if (!node.clientWidth || node.matches("input, textarea, select, html, body")) continue;
    const { overflowX, overflowY, textOverflow, webkitLineClamp } = getComputedStyle(node);
    const isLabelled = (textOverflow === "ellipsis" || webkitLineClamp !== "none") && (node.title || node.closest("[title], [data-bs-title], [aria-label]"));
    const cutX = ["hidden", "clip"].includes(overflowX) && node.scrollWidth > node.clientWidth + 1;
    const cutY = ["hidden", "clip"].includes(overflowY) && node.scrollHeight > node.clientHeight + 2;
    if ((cutX || cutY) && !isLabelled && node.clientHeight > 1) faults.push(`cut: ${short(node)} ${node.scrollWidth}x${node.scrollHeight} in ${node.clientWidth}x${node.clientHeight}`);
  }

  const boxes = [];
  const within = (box, around) => ({
    left: Math.max(box.left, around.left), right: Math.min(box.right, around.right),
    top: Math.max(box.top, around.top), bottom: Math.min(box.bottom, around.bottom),
  });
  // Once an element, not once for each text inside it.
  const windows = new Map([[null, { left: -Infinity, right: Infinity, top: -Infinity, bottom: Infinity }]]);
  windows.set(doc, windows.get(null));
  const windowOf = (node) => {
    if (!windows.has(node)) {
      const around = windowOf(node.parentElement);
      const isOpen = getComputedStyle(node).overflow === "visible";
      windows.set(node, isOpen ? around : within(around, node.getBoundingClientRect()));
    }
    return windows.get(node);
  };
  const clip = (from, box) => within(box, windowOf(from));
  const floating = new Map([[null, false], [document.body, false]]);
  const floats = (node) => {
    if (!floating.has(node))
      floating.set(node, ["fixed", "sticky", "absolute"].includes(getComputedStyle(node).position) || floats(node.parentElement));
    return floating.get(node);
  };
  for (const node of nodes) {
    if (floats(node)) continue;
    const rects = [];
    if (node.matches("input:not([type=hidden]), select, textarea, button, .btn")) rects.push([node.parentElement, node.getBoundingClientRect()]);
    else if (!node.closest("button, .btn"))
      for (const child of node.childNodes) {
        if (child.nodeType !== Node.TEXT_NODE || !child.textContent.trim()) continue;
        const range = document.createRange(); range.selectNodeContents(child);
        rects.push(...[...range.getClientRects()].map((rect) => [node, rect]));
      }
    for (const [from, rect] of rects) {
      const box = clip(from, rect);
      if (box.right - box.left < 3 || box.bottom - box.top < 3) continue;
      if (rect.right > innerWidth + 1 && !nodes.some((up) => up.contains(node) && scrolls(up))) faults.push(`beyond the window: ${short(node)}`);
      boxes.push([node, box]);
    }
  }
  boxes.sort((a, b) => a[1].top - b[1].top);
  for (const [index, [node, box]] of boxes.entries()) {
    for (let next = index + 1; next < boxes.length && boxes[next][1].top < box.bottom - 4; next += 1) {
      const [other, beside] = boxes[next];
      if (other === node || other.contains(node) || node.contains(other)) continue;
      const wide = Math.min(box.right, beside.right) - Math.max(box.left, beside.left);
      const high = Math.min(box.bottom, beside.bottom) - Math.max(box.top, beside.top);
      if (wide > 4 && high > 4) faults.push(`over each other: ${short(node)} and ${short(other)}`);
    }
  }
  return [...new Set(faults)];
}"""


LOOKS = 4
"""Attempts for each width. On a busy machine chromium resizes some frames late; a real fault is found by every
attempt."""


def layout_faults(page: Page, widths: tuple[int, ...] = WIDTHS) -> list[str]:
    """Return the faults of the open page, each with its width. The window keeps the last width."""
    faults = []
    for width in widths:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        faults += [f"{width}: {fault}" for fault in _faults(page)]
    return faults


def layout_shift(page: Page) -> float:
    """Return the cumulative layout shift of the open page after all its parts have loaded. The page must have
    `LAYOUT_SHIFTS`."""
    page.wait_for_function(IS_LOADED)
    page.evaluate(NEXT_FRAMES)
    shift = page.evaluate("window.layoutShift")
    assert isinstance(shift, int | float)
    return shift


def _faults(page: Page) -> list[str]:
    faults: list[str] = []
    for _ in range(LOOKS):
        page.evaluate(NEXT_FRAMES)
        faults = page.evaluate(FAULTS_OF_LAYOUT)
        if not faults:
            break
    return faults
