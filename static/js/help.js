// The “?” beside a label is a link to the glossary. With this script, a click shows the term in a popover.

let popover;

function build() {
  popover = document.createElement("div");
  popover.className = "menu help-popover";
  popover.id = "help-popover";
  popover.popover = "auto";
  popover.setAttribute("role", "dialog");
  popover.setAttribute("aria-labelledby", "help-popover-title");
  const title = Object.assign(document.createElement("h2"), { id: "help-popover-title", className: "h4 mb-1" });
  const links = Object.assign(document.createElement("p"), { className: "mb-0 mt-2 btn-list" });
  popover.append(title, document.createElement("p"), links);
  document.body.append(popover);
}

function link(text, href) {
  return Object.assign(document.createElement("a"), { textContent: text, href });
}

function show(button) {
  if (!popover) build();
  const [title, text, links] = popover.children;
  const { help, helpTitle, helpMore } = button.dataset;
  title.textContent = helpTitle;
  text.textContent = help;
  links.replaceChildren(link("Glossary", button.href), ...(helpMore ? [link("How we count", helpMore)] : []));
  popover.menuButton = button;
  popover.showPopover();
  links.firstChild.focus();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-help]");
  if (!button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  show(button);
});
