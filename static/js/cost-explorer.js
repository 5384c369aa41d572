// The cost explorer: a click on the chart opens the next finer grouping, dragging selects days. All else is links
// and forms.
import { announce } from "./console.js";
import "./filter-form.js";
import "./popover.js";

async function copyLink(button) {
  const label = button.querySelector("[data-copy-label]");
  try {
    await navigator.clipboard.writeText(new URL(button.dataset.copyLink, location.href).href);
    label.textContent = "Copied";
    announce("Link copied.");
  } catch {
    label.textContent = "Copy from the address bar";
  }
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-copy-link]");
  if (button) copyLink(button);
});

function ask(queryString) {
  const place = { source: "#explorer", target: "#explorer", swap: "outerHTML" };
  htmx.ajax("GET", `${location.pathname}${queryString}`, place);
}

document.addEventListener("chart:open", ({ detail }) => ask(detail));
