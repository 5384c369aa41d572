// Arranging a dashboard: widgets are dragged and resized (Gridstack), or moved by buttons; saved only by the form.
import { announce } from "./announce.js";
import { layoutOf, placeText, stepPlace } from "./lib/placement.js";

const ROW_HEIGHT = 96; // with its gap, as in dashboards.css
const start = document.querySelector("[data-arrange]");
const form = document.getElementById("arrange-form");
let grid;

function titleOf(item) {
  return item.querySelector(".card-title").textContent.trim();
}

function prepareItem(item) {
  item.classList.add("grid-stack-item");
  for (const name of ["x", "y", "w", "h"]) item.setAttribute(`gs-${name}`, item.dataset[name]);
  const card = item.querySelector(".board-card");
  card.classList.add("grid-stack-item-content");
  item.querySelector(".card-actions")?.remove();
  const tools = document.getElementById("arrange-tools").content.cloneNode(true);
  tools.firstElementChild.setAttribute("aria-label", `Place and size of ${titleOf(item)}`);
  card.querySelector(".card-header").append(tools);
}

function arrange() {
  const board = document.getElementById("board");
  if (grid || !board) return;
  for (const item of board.children) prepareItem(item);
  board.classList.add("grid-stack");
  grid = GridStack.init(
    {
      column: 12,
      cellHeight: ROW_HEIGHT,
      margin: 8,
      float: true,
      maxRow: 1000,
      handle: ".card-header",
      draggable: { handle: ".card-header", cancel: "button" },
      resizable: { handles: "e,se,s,sw,w" },
      animate: !matchMedia("(prefers-reduced-motion: reduce)").matches,
    },
    board,
  );
  form.hidden = false;
  start.hidden = true;
  announce("Arranging: drag widgets, or use the buttons in each.");
}

function move(button) {
  const item = button.closest(".grid-stack-item");
  grid.update(item, stepPlace(item.gridstackNode, button.dataset.move));
  announce(placeText(titleOf(item), item.gridstackNode));
}

document.addEventListener("click", ({ target }) => {
  if (target.closest("[data-arrange]")) arrange();
  if (target.closest("[data-arrange-cancel]")) location.reload();
  const button = target.closest("[data-move]");
  if (button && grid) move(button);
});

form?.addEventListener("submit", () => {
  form.elements.layout.value = JSON.stringify(layoutOf(grid.engine.nodes));
});
