// Arranging a board: widgets are dragged and resized (Gridstack), or moved by buttons; nothing is kept until it is saved.
(() => {
  const start = document.querySelector("[data-arrange]");
  const form = document.getElementById("arrange-form");
  const ROW = 96; // a row of the board with its gap, as in dashboards.css
  const STEPS = {
    left: { x: -1 },
    right: { x: 1 },
    up: { y: -1 },
    down: { y: 1 },
    narrower: { w: -1 },
    wider: { w: 1 },
    shorter: { h: -1 },
    taller: { h: 1 },
  };
  let grid;

  function announce(text) {
    document.getElementById("announcer").textContent = text;
  }

  function prepare(item) {
    item.classList.add("grid-stack-item");
    for (const name of ["x", "y", "w", "h"]) item.setAttribute(`gs-${name}`, item.dataset[name]);
    const card = item.querySelector(".board-card");
    card.classList.add("grid-stack-item-content");
    item.querySelector(".card-actions")?.remove();
    const tools = document.getElementById("arrange-tools").content.cloneNode(true);
    const title = item.querySelector(".card-title").textContent.trim();
    tools.firstElementChild.setAttribute("aria-label", `Place and size of ${title}`);
    card.querySelector(".card-header").append(tools);
  }

  function arrange() {
    const board = document.getElementById("board");
    if (grid || !board) return;
    for (const item of board.children) prepare(item);
    board.classList.add("grid-stack");
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    grid = GridStack.init({ column: 12, cellHeight: ROW, margin: 8, float: true, maxRow: 1000, handle: ".card-header", draggable: { handle: ".card-header", cancel: "button" }, resizable: { handles: "e,se,s,sw,w" }, animate: !still }, board);
    form.hidden = false;
    start.hidden = true;
    announce("Arranging: drag widgets, or use the buttons in each.");
  }

  function move(button) {
    const item = button.closest(".grid-stack-item");
    const { x, y, w, h } = item.gridstackNode;
    const step = STEPS[button.dataset.move];
    const width = Math.min(Math.max(w + (step.w ?? 0), 1), 12);
    const to = {
      w: width,
      h: Math.min(Math.max(h + (step.h ?? 0), 1), 20),
      x: Math.min(Math.max(x + (step.x ?? 0), 0), 12 - width),
      y: Math.max(y + (step.y ?? 0), 0),
    };
    grid.update(item, to);
    const now = item.gridstackNode;
    const title = item.querySelector(".card-title").textContent.trim();
    announce(`${title}: column ${now.x + 1}, row ${now.y + 1}, ${now.w} wide, ${now.h} high.`);
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-arrange]")) arrange();
    if (event.target.closest("[data-arrange-cancel]")) location.reload();
    const button = event.target.closest("[data-move]");
    if (button && grid) move(button);
  });

  form?.addEventListener("submit", () => {
    const places = grid.engine.nodes.map(({ el, x, y, w, h }) => ({ id: Number(el.dataset.widget), x, y, w: w ?? 1, h: h ?? 1 }));
    form.elements.layout.value = JSON.stringify(places);
  });
})();
