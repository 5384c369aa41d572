// The search of the console: a dialog with a combobox (WAI-ARIA "combobox with listbox popup"). Focus stays in the
// field; aria-activedescendant names the option. Names are requested 120 ms after the last key, costs after 400.
import { nextIndex } from "./lib/listbox.js";

const dialog = document.getElementById("search");
const input = document.getElementById("search-text");
const list = document.getElementById("search-results");
const note = document.getElementById("search-note");
const isApple = /Mac|iPhone|iPad/.test(navigator.platform);
const PARTS = { names: 120, costs: 400 };
const LEAST_COST_TEXT = 3;
const INCOMPLETE = "Results are incomplete: the search took too long. Try again.";

// `message` is the text of the note.
class TooManySearches extends Error {
  constructor(seconds) {
    super(`No cost results: too many searches. Try again in ${seconds} s.`);
  }
}

let timers = [];
let requests = new AbortController();

function options() {
  return [...list.querySelectorAll("[role=option]")];
}

function select(option) {
  for (const each of options()) each.setAttribute("aria-selected", String(each === option));
  if (option) {
    input.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  } else input.removeAttribute("aria-activedescendant");
}

function selected() {
  return list.querySelector("[aria-selected=true]");
}

// A part that arrives later keeps the selected option.
function showPart(name, html) {
  const href = selected()?.getAttribute("href");
  const part = list.querySelector(`[data-search-part=${name}]`);
  part.innerHTML = html;
  for (const [index, option] of options().entries()) option.id = `search-option-${index}`;
  const all = options();
  input.setAttribute("aria-expanded", String(all.length > 0));
  select(all.find((each) => each.getAttribute("href") === href) || all[0]);
}

// A status within the dialog, because screen readers ignore elements outside of a modal dialog. Visible only without
// results and after errors.
function showNote(text, isVisible) {
  note.textContent = text;
  note.classList.toggle("visually-hidden", !isVisible);
}

async function fetchPart(name, text, signal) {
  const params = new URLSearchParams({ q: text });
  if (name === "costs") params.set("costs", "1");
  const response = await fetch(`${dialog.dataset.searchUrl}?${params}`, { signal });
  // The session has expired.
  if (response.redirected) return location.reload();
  if (response.status === 429) throw new TooManySearches(response.headers.get("Retry-After"));
  if (!response.ok) throw new Error(`search: ${response.status}`);
  showPart(name, await response.text());
  return !response.headers.has("X-Search-Incomplete");
}

function search() {
  const text = input.value.trim();
  for (const timer of timers) clearTimeout(timer);
  requests.abort();
  requests = new AbortController();
  const { signal } = requests;
  const names = text.length >= LEAST_COST_TEXT ? ["names", "costs"] : ["names"];
  if (names.length === 1) showPart("costs", "");
  let waiting = names.length;
  let problem = "";
  timers = names.map((name) =>
    setTimeout(
      async () => {
        try {
          if (!(await fetchPart(name, text, signal))) problem = INCOMPLETE;
        } catch (error) {
          if (signal.aborted) return;
          showPart(name, "");
          problem = error instanceof TooManySearches ? error.message : INCOMPLETE;
        }
        waiting -= 1;
        if (waiting) return;
        const count = options().length;
        if (problem) showNote(problem, true);
        else if (count) showNote(count === 1 ? "1 result" : `${count} results`, false);
        else showNote(`No results for “${text}”`, true);
      },
      text ? PARTS[name] : 0,
    ),
  );
}

function open() {
  if (dialog.open) return;
  dialog.showModal();
  input.select();
  search();
}

input.addEventListener("input", () => {
  showNote("", false);
  search();
});

input.addEventListener("keydown", (event) => {
  const all = options();
  const index = nextIndex(event.key, all.indexOf(selected()), all.length);
  if (index !== null) {
    event.preventDefault();
    select(all[index]);
  } else if (event.key === "Enter") {
    event.preventDefault();
    const option = selected();
    if (!option) return;
    if (event.ctrlKey || event.metaKey) globalThis.open(option.href, "_blank", "noopener");
    else location.assign(option.href);
  }
});

list.addEventListener("pointermove", ({ target }) => {
  const option = target.closest("[role=option]");
  if (option && option !== selected()) select(option);
});

dialog.addEventListener("click", ({ target }) => {
  // A click on the dialog itself is one on its backdrop, around the content.
  if (target === dialog || target.closest("[data-search-close]")) dialog.close();
});

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
  event.preventDefault();
  if (dialog.open) dialog.close();
  else open();
});

document.addEventListener("click", ({ target }) => {
  if (target.closest("[data-search-open]")) open();
});

for (const key of document.querySelectorAll("[data-search-key]")) key.textContent = isApple ? "⌘K" : "Ctrl K";
