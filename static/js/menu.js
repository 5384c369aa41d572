// Menus above the page: <button popovertarget="…"> and its [popover]. The browser opens and closes them, also by
// Escape and a click outside. This script adds their position, arrow keys, and the field that filters a list of links.
import { nextIndex } from "./lib/listbox.js";

const GAP = 4;

function place(menu) {
  const button = document.querySelector(`[popovertarget="${menu.id}"][aria-expanded=true]`) ?? menu.menuButton;
  if (!button) return;
  const { clientWidth, clientHeight } = document.documentElement;
  const [at, own] = [button.getBoundingClientRect(), menu.getBoundingClientRect()];
  const below = clientHeight - at.bottom - GAP;
  const isAbove = own.height > below && at.top > below;
  menu.style.left = `${Math.max(GAP, Math.min(at.left, clientWidth - own.width - GAP))}px`;
  menu.style.top = isAbove ? `${Math.max(GAP, at.top - own.height - GAP)}px` : `${at.bottom + GAP}px`;
}

document.addEventListener(
  "click",
  ({ target }) => {
    const button = target.closest("[popovertarget]");
    if (button) document.getElementById(button.getAttribute("popovertarget")).menuButton = button;
  },
  true,
);

document.addEventListener(
  "toggle",
  ({ target: menu, newState }) => {
    if (!menu.matches?.(".menu[popover]")) return;
    menu.menuButton?.setAttribute("aria-expanded", String(newState === "open"));
    if (newState !== "open") return menu.removeAttribute("style");
    place(menu);
    for (const part of menu.querySelectorAll("[hx-trigger='menu:open']")) part.dispatchEvent(new Event("menu:open"));
    const filter = menu.querySelector("[data-menu-filter]");
    if (filter) {
      filter.value = "";
      filterLinks(filter);
      filter.focus();
    }
  },
  true,
);

function links(menu) {
  return [...menu.querySelectorAll("a, button")].filter((each) => !each.closest("[hidden]"));
}

function filterLinks(input) {
  const text = input.value.trim().toLocaleLowerCase();
  for (const item of input.closest(".menu").querySelectorAll("[data-menu-item]")) {
    item.hidden = !item.textContent.toLocaleLowerCase().includes(text);
  }
}

document.addEventListener("input", ({ target }) => {
  if (target.matches("[data-menu-filter]")) filterLinks(target);
});

document.addEventListener("keydown", (event) => {
  const menu = event.target.closest?.(".menu[popover]");
  if (!menu) return;
  const all = links(menu);
  if (event.key === "Enter" && event.target.matches("[data-menu-filter]")) {
    event.preventDefault();
    all[0]?.click();
    return;
  }
  const index = nextIndex(event.key, all.indexOf(document.activeElement), all.length);
  if (index === null) return;
  event.preventDefault();
  all[index].focus();
});

// Content that htmx loads changes the size of a menu.
function placeOpenMenus() {
  for (const menu of document.querySelectorAll(".menu:popover-open")) place(menu);
}

for (const name of ["htmx:responseError", "htmx:sendError"]) {
  document.addEventListener(name, ({ target }) => {
    const loading = target.closest?.(".menu") && target.querySelector("[role=status]");
    if (loading) loading.textContent = "Not loaded. Try again.";
  });
}

addEventListener("resize", placeOpenMenus);
document.addEventListener("htmx:afterSettle", placeOpenMenus);
