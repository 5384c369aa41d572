// A dashboard: reloading its widgets, another currency, full screen; and for editors dragging and resizing (Gridstack),
// or moving by keys and buttons. A change is saved at once and can be undone.
import { announce } from "./console.js";
import { layoutOf, placeText, sameLayout, stepOfKey, stepPlace } from "./lib/placement.js";

const ROW_HEIGHT = 96; // with its gap, as in dashboards.css
const SAVE_DELAY = 500;
const frame = document.getElementById("result");
const undo = document.getElementById("undo");
// Positions are inline styles, and the content security policy blocks styles that htmx copies as attributes.
htmx.config.attributesToSettle = ["class"];

let grid;
let starting;
let saved;
let saving;

function boardNode() {
  return document.getElementById("board");
}

function itemOf(node) {
  return node.closest(".board-item");
}

function titleOf(item) {
  return item.querySelector(".card-title").textContent.trim();
}

function bodies(root) {
  return root.querySelectorAll(".board-body[hx-get]");
}

// Reading

function refresh(root) {
  for (const body of bodies(root)) htmx.trigger(body, "refresh");
}

function showCurrency(button) {
  const body = button.closest(".board-body");
  body.dataset.currency = button.dataset.currency;
  htmx.trigger(body, "refresh");
  announce(`Shown in ${button.dataset.currency}.`);
}

async function toggleFullScreen(node) {
  if (document.fullscreenElement) await document.exitFullscreen();
  else await node.requestFullscreen();
}

document.addEventListener("htmx:configRequest", ({ target, detail }) => {
  if (target.dataset?.currency && target.matches(".board-body")) detail.parameters.currency = target.dataset.currency;
});

// Arranging: only where the dashboard has all twelve columns

function isWide() {
  return getComputedStyle(boardNode()).getPropertyValue("--board-columns").trim() === "12";
}

function load(element, attributes) {
  return new Promise((resolve, reject) => {
    document.head.prepend(Object.assign(element, { ...attributes, onload: resolve, onerror: reject }));
  });
}

// Gridstack's stylesheet comes before ours, which overrides rules on its elements.
function loadGridstack() {
  const { gridstack: src, gridstackCss: href } = frame.dataset;
  const style = load(document.createElement("link"), { rel: "stylesheet", href });
  return Promise.all([style, load(document.createElement("script"), { src })]);
}

function prepareItem(item) {
  item.classList.add("grid-stack-item");
  for (const name of ["x", "y", "w", "h"]) item.setAttribute(`gs-${name}`, item.dataset[name]);
  item.querySelector(".board-card").classList.add("grid-stack-item-content");
}

async function startGrid() {
  if (!globalThis.GridStack) await loadGridstack();
  const board = boardNode();
  for (const item of board.children) prepareItem(item);
  board.classList.add("grid-stack");
  grid = GridStack.init(
    {
      column: 12,
      cellHeight: ROW_HEIGHT,
      margin: 8,
      float: true,
      maxRow: 1000,
      draggable: { handle: ".card-header", cancel: "button, a, .dropdown-menu" },
      resizable: { handles: "e,se,s,sw,w" },
      alwaysShowResizeHandle: true,
      animate: !matchMedia("(prefers-reduced-motion: reduce)").matches,
    },
    board,
  );
  saved = layoutOf(grid.engine.nodes);
  grid.on("dragstop resizestop", saveSoon);
}

/** Loads Gridstack when the pointer or the keyboard first reaches the dashboard, not with the page. */
function prepareGrid() {
  if (!frame.dataset.gridstack || !boardNode() || grid || !isWide()) return undefined;
  starting ??= startGrid().finally(() => {
    starting = undefined;
  });
  return starting;
}

/** Sets the positions in the columns of the stylesheet; the attributes of the page have the positions at its load. */
function place(item) {
  const { x, y, w, h } = item.dataset;
  const columns = { x: Number(x) + 1, y: Number(y) + 1, w, h };
  for (const [name, value] of Object.entries(columns)) item.style.setProperty(`--${name}`, value);
  item.toggleAttribute("data-wide", Number(w) > 6);
}

/** Returns to the columns of the stylesheet, with the positions of the grid. */
function endGrid() {
  for (const { el, x, y, w = 1, h = 1 } of grid.engine.nodes) {
    Object.assign(el.dataset, { x, y, w, h });
    place(el);
  }
  const board = boardNode();
  grid.destroy(false);
  grid = undefined;
  board?.classList.remove("grid-stack");
  for (const item of board?.children ?? []) item.classList.remove("grid-stack-item");
  for (const card of board?.querySelectorAll(".board-card") ?? []) card.classList.remove("grid-stack-item-content");
}

async function save() {
  if (!grid) return;
  const layout = layoutOf(grid.engine.nodes);
  if (sameLayout(layout, saved)) return;
  const body = new FormData(document.getElementById("board-form"));
  body.set("layout", JSON.stringify(layout));
  const response = await fetch(frame.dataset.layoutUrl, { method: "POST", body, redirect: "manual" });
  if (!response.ok) {
    // The reloaded page shows the error and the stored positions.
    location.reload();
    return;
  }
  saved = layout;
  const { undo: text } = await response.json();
  undo.hidden = false;
  undo.title = text;
  announce("Layout saved. Press Ctrl+Z to undo.");
}

function saveSoon() {
  clearTimeout(saving);
  saving = setTimeout(save, SAVE_DELAY);
}

async function move(item, step) {
  await prepareGrid();
  if (!grid) return;
  grid.update(item, stepPlace(item.gridstackNode, step));
  announce(placeText(titleOf(item), item.gridstackNode));
  saveSoon();
}

function showTools(item) {
  const header = item.querySelector(".card-header");
  const tools = header.querySelector(".board-tools");
  if (tools) {
    tools.remove();
    return;
  }
  header.append(document.getElementById("board-tools").content.cloneNode(true));
  const added = header.querySelector(".board-tools");
  added.setAttribute("aria-label", `Place and size of ${titleOf(item)}`);
  added.querySelector("button").focus();
}

const WIDGET_ACTIONS = {
  fullscreen: (item) => toggleFullScreen(item.querySelector(".board-card")),
  refresh,
  arrange: showTools,
};

const BOARD_ACTIONS = { fullscreen: () => toggleFullScreen(frame), refresh: () => refresh(frame) };

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-board], [data-widget-action], [data-currency], [data-move]");
  if (!button || button.matches(".board-body")) return;
  const { board, widgetAction, currency, move: step } = button.dataset;
  if (board) BOARD_ACTIONS[board]();
  else if (widgetAction) WIDGET_ACTIONS[widgetAction](itemOf(button));
  else if (currency) showCurrency(button);
  else if (step) move(itemOf(button), step);
});

frame?.addEventListener("pointerenter", prepareGrid);
frame?.addEventListener("focusin", prepareGrid);

document.addEventListener("keydown", (event) => {
  const { target, key } = event;
  if (key === "z" && (event.ctrlKey || event.metaKey) && undo && !undo.hidden && !target.matches("input, textarea")) {
    event.preventDefault();
    undo.click();
    return;
  }
  const step = target.matches?.(".board-grip") && stepOfKey(key, event.shiftKey);
  if (!step) return;
  event.preventDefault();
  move(itemOf(target), step);
});

// Days or filters have changed: the widgets are new elements.
document.addEventListener("htmx:beforeSwap", ({ target }) => {
  if (target === frame && grid) {
    saved = undefined;
    grid.destroy(false);
    grid = undefined;
  }
});

document.addEventListener("htmx:afterSwap", ({ target }) => {
  if (target === frame) for (const item of boardNode()?.children ?? []) place(item);
});

if (frame?.dataset.gridstack) {
  new ResizeObserver(() => {
    if (grid && !isWide()) endGrid();
  }).observe(frame);
}
