// Small behaviours of every page, bound by data attributes: theme, copying, confirmation, one submission a form.
(() => {
  const root = document.documentElement;

  function announce(text) {
    document.getElementById("announcer").textContent = text;
  }

  function toggleTheme() {
    const theme = root.getAttribute("data-bs-theme") === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // Storage is blocked: the choice lasts for this page.
    }
    paint(theme);
    announce(`The page is ${theme} now.`);
  }

  // Paper is white: what a dark page shows would be pale on it.
  let shown = "";
  function forPaper() {
    shown = root.getAttribute("data-bs-theme");
    if (shown === "dark") paint("light");
  }

  function paint(theme) {
    root.setAttribute("data-bs-theme", theme);
    document.dispatchEvent(new CustomEvent("console:theme", { detail: theme }));
  }

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
      // No permission or no secure origin: select it, so that Ctrl-C does the rest.
      const range = document.createRange();
      range.selectNodeContents(source);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      label.textContent = "Press Ctrl+C";
      announce("The text is selected: press Ctrl+C.");
    }
    setTimeout(() => (label.textContent = before), 2000);
  }

  function confirmed(form) {
    const dialog = document.getElementById("confirm");
    const { confirm, confirmText = "", confirmYes = "Yes", confirmNo = "Cancel" } = form.dataset;
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

  async function onSubmit(event) {
    const form = event.target;
    if (form.dataset.confirm && !form.dataset.confirmDone) {
      event.preventDefault();
      if (await confirmed(form)) {
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
  }

  // Tables whose rows are all on the page sort here; a row marked as the rest of its list stays last.
  function sortKey(row, index) {
    const cell = row.cells[index];
    const value = cell?.dataset.value ?? cell?.textContent.trim() ?? "";
    return value !== "" && Number.isFinite(Number(value)) ? Number(value) : value.toLowerCase();
  }

  function compare(a, b) {
    if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
    return typeof a === "number" ? 1 : -1;
  }

  function sortBy(header) {
    const table = header.closest("table");
    const index = header.cellIndex;
    const first = header.classList.contains("num") ? "descending" : "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = header.getAttribute("aria-sort") === first ? other : first;
    for (const each of header.parentElement.cells) each.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => ("rest" in a.dataset) - ("rest" in b.dataset) || sign * compare(sortKey(a, index), sortKey(b, index)));
    table.tBodies[0].append(...rows);
  }

  function makeSortable() {
    for (const header of document.querySelectorAll("table[data-sortable] thead th:not([data-no-sort])")) {
      if (header.querySelector("button") || !header.textContent.trim()) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort sort-button";
      button.append(...header.childNodes);
      header.append(button);
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest(".sort-button");
    if (button) sortBy(button.closest("th"));
  });
  // The page's own item of a long navigation is in sight.
  function showCurrent() {
    const item = document.querySelector("#sidebar-menu nav [aria-current=page]");
    const list = item?.closest("nav");
    if (!list) return;
    const [seen, own] = [list.getBoundingClientRect(), item.getBoundingClientRect()];
    if (own.bottom > seen.bottom) list.scrollTop += own.bottom - seen.bottom + seen.height / 3;
  }

  document.addEventListener("DOMContentLoaded", makeSortable);
  document.addEventListener("DOMContentLoaded", showCurrent);
  document.addEventListener("htmx:afterSettle", makeSortable);

  document.addEventListener("click", (event) => {
    const toggle = event.target.closest("[data-theme-toggle]");
    if (toggle) toggleTheme();
    const button = event.target.closest("[data-copy]");
    if (button) copy(button);
  });
  document.addEventListener("submit", onSubmit);
  addEventListener("beforeprint", forPaper);
  addEventListener("afterprint", () => shown === "dark" && paint("dark"));
  // The session ended meanwhile: the whole page goes to sign-in, not a part of it.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const reached = new URL(event.detail.xhr.responseURL || location.href, location.href);
    if (!reached.pathname.startsWith("/auth/")) return;
    event.detail.shouldSwap = false;
    location.reload();
  });
  // An answer that replaces a form's fields is older than what was typed while it was on its way.
  let typed = new Map();
  const keeps = (event) => event.detail.elt.matches?.("[data-keep-typed]");
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (keeps(event)) typed = new Map();
  });
  document.addEventListener("input", (event) => {
    if (event.target.closest("[data-keep-typed]") && event.target.name) typed.set(event.target.name, event.target.value);
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    const asked = event.detail.requestConfig?.elt;
    if (!asked?.matches("[data-keep-typed]")) return;
    const fields = asked.closest("form").elements;
    for (const [name, value] of typed) if (fields[name]) fields[name].value = value;
  });
  // What a partial update brought is said in one sentence, once; the region itself would be read out whole.
  let said = "";
  document.addEventListener("htmx:afterSettle", () => {
    const text = document.querySelector("[data-announce]")?.dataset.announce || "";
    if (text && text !== said) announce(text);
    said = text;
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submit-on-change]")) event.target.form.requestSubmit();
  });
  // A form that came back begins at what it refuses.
  document.addEventListener("DOMContentLoaded", () => {
    const refused = document.querySelector("main form [aria-invalid=true]:not([type=hidden])");
    const folded = refused?.closest("details");
    if (folded) folded.open = true;
    const said = document.querySelector("main form .alert-danger:not([hidden])");
    if (!refused && said) said.tabIndex = -1;
    (refused || said)?.focus();
  });
  // A page kept by the browser's back button may be sent again.
  addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });
})();
