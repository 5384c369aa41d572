// Functions of every page, bound by data attributes: theme, copying, confirmation, one submission per form, sortable
// tables.
import "./help.js";
import "./menu.js";
import { compareRows, nextOrder, sortKey } from "./lib/sorting.js";

/** Announces a sentence to screen readers, in the log of every page (base.html). Two at the same time are both read. */
export function announce(text) {
  const log = document.getElementById("announcer");
  const line = document.createElement("p");
  line.textContent = text;
  log.append(line);
  if (log.children.length > 5) log.firstElementChild.remove();
}

const root = document.documentElement;

// Theme

function setTheme(theme) {
  root.setAttribute("data-bs-theme", theme);
  document.dispatchEvent(new CustomEvent("console:theme", { detail: theme }));
}

function toggleTheme() {
  const theme = root.getAttribute("data-bs-theme") === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // Storage is blocked, so the choice applies to this page only.
  }
  setTheme(theme);
  announce(`Theme: ${theme}.`);
}

// The print version uses the light theme: colours of the dark theme are too pale on paper.
let themeBeforePrint = "";
addEventListener("beforeprint", () => {
  themeBeforePrint = root.getAttribute("data-bs-theme");
  if (themeBeforePrint === "dark") setTheme("light");
});
addEventListener("afterprint", () => {
  if (themeBeforePrint === "dark") setTheme("dark");
});

// Copying

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  const text = "value" in source ? source.value : source.textContent;
  const label = button.querySelector("[data-copy-label]") || button;
  const before = label.textContent;
  try {
    await navigator.clipboard.writeText(text);
    label.textContent = "Copied";
    announce("Copied to the clipboard.");
  } catch {
    // No permission or no secure origin: select the text, so that Ctrl+C copies it.
    const range = document.createRange();
    range.selectNodeContents(source);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    label.textContent = "Press Ctrl+C";
    announce("Text selected. Press Ctrl+C to copy.");
  }
  setTimeout(() => {
    label.textContent = before;
  }, 2000);
}

// Sortable tables: all of their rows are on the page

function sortByColumn(header) {
  const body = header.closest("table").tBodies[0];
  const order = nextOrder(header.getAttribute("aria-sort"), header.classList.contains("num"));
  for (const cell of header.parentElement.cells) cell.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", order);
  const rows = [...body.rows].map((row) => {
    const cell = row.cells[header.cellIndex];
    const text = cell?.dataset.value ?? cell?.textContent.trim() ?? "";
    return { row, key: sortKey(text), isRest: "rest" in row.dataset };
  });
  rows.sort((a, b) => compareRows(a, b, order));
  body.append(...rows.map(({ row }) => row));
}

function addSortButtons() {
  for (const header of document.querySelectorAll("table[data-sortable] thead th:not([data-no-sort])")) {
    if (header.querySelector("button") || !header.textContent.trim()) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort sort-button";
    button.append(...[...header.childNodes].filter((node) => !node.matches?.(".help")));
    header.prepend(button);
  }
}

document.addEventListener("DOMContentLoaded", addSortButtons);
document.addEventListener("htmx:afterSettle", addSortButtons);

document.addEventListener("click", (event) => {
  const sort = event.target.closest(".sort-button");
  if (sort) sortByColumn(sort.closest("th"));
  if (event.target.closest("[data-theme-toggle]")) toggleTheme();
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
});

// Navigation: the item of this page is scrolled into view
document.addEventListener("DOMContentLoaded", () => {
  const item = document.querySelector("#sidebar-menu nav [aria-current=page]");
  const list = item?.closest("nav");
  if (!list) return;
  const [visible, own] = [list.getBoundingClientRect(), item.getBoundingClientRect()];
  if (own.bottom > visible.bottom) list.scrollTop += own.bottom - visible.bottom + visible.height / 3;
});

// Tabs: the current one is in view where they scroll
document.addEventListener("DOMContentLoaded", () => {
  const tab = document.querySelector(".nav-tabs .nav-link.active");
  const tabs = tab?.closest(".nav-tabs");
  if (tabs) tabs.scrollLeft = tab.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - tab.offsetWidth) / 2;
});

// Forms

function confirmInDialog(form) {
  const dialog = document.getElementById("confirm");
  const { confirm, confirmText = "", confirmYes = "Continue", confirmNo = "Cancel" } = form.dataset;
  document.getElementById("confirm-title").textContent = confirm;
  document.getElementById("confirm-text").textContent = confirmText;
  document.getElementById("confirm-yes").textContent = confirmYes;
  document.getElementById("confirm-no").textContent = confirmNo;
  dialog.returnValue = "cancel";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.dataset.confirm && !form.dataset.confirmDone) {
    event.preventDefault();
    if (await confirmInDialog(form)) {
      form.dataset.confirmDone = "1";
      form.requestSubmit(event.submitter);
    }
    return;
  }
  delete form.dataset.confirmDone;
  if ("once" in form.dataset) {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "1";
  }
});

// A page that the browser's back button restores may be submitted again.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

document.addEventListener("change", ({ target }) => {
  if (target.matches("[data-submit-on-change]")) target.form.requestSubmit();
  if (target.matches("[data-copies-to]") && target.value) {
    document.getElementById(target.dataset.copiesTo).value = target.value;
  }
});

// A form with errors scrolls to its first invalid field, or to its message.
document.addEventListener("DOMContentLoaded", () => {
  const invalid = document.querySelector("main form [aria-invalid=true]:not([type=hidden])");
  const details = invalid?.closest("details");
  if (details) details.open = true;
  const message = document.querySelector("main form .alert-danger:not([hidden])");
  if (!invalid && message) message.tabIndex = -1;
  (invalid || message)?.focus();
});

// htmx

// The session has expired: the whole page opens sign-in, not a part of it.
document.addEventListener("htmx:beforeSwap", (event) => {
  const address = new URL(event.detail.xhr.responseURL || location.href, location.href);
  if (!address.pathname.startsWith("/auth/")) return;
  event.detail.shouldSwap = false;
  location.reload();
});

// A response that replaces a form's fields lacks the text typed since its request: values by field name.
let newerValues = new Map();
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.detail.elt.matches?.("[data-keep-typed]")) newerValues = new Map();
});
document.addEventListener("input", ({ target }) => {
  if (target.closest("[data-keep-typed]") && target.name) newerValues.set(target.name, target.value);
});
document.addEventListener("htmx:afterSwap", (event) => {
  const source = event.detail.requestConfig?.elt;
  if (!source?.matches("[data-keep-typed]")) return;
  const fields = source.closest("form").elements;
  for (const [name, value] of newerValues) if (fields[name]) fields[name].value = value;
});

// A partial update is announced once, in one sentence: a live region would be read out completely.
let lastAnnouncement = "";
document.addEventListener("htmx:afterSettle", () => {
  const text = document.querySelector("[data-announce]")?.dataset.announce || "";
  if (text && text !== lastAnnouncement) announce(text);
  lastAnnouncement = text;
});
