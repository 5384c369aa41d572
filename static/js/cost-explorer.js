// The cost explorer: its chart leads on, by click to what is finer, by dragging to a range of days. All else are links
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
