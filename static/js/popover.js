// Popovers are <details data-popover>, so that they open without JavaScript too. One is open at a time. Escape and a
// click outside close it; Escape returns the focus to its button.

function openPopovers() {
  return document.querySelectorAll("details[data-popover][open]");
}

function close(popover, hasFocus) {
  popover.open = false;
  if (hasFocus) popover.querySelector("summary").focus();
}

document.addEventListener("click", ({ target }) => {
  for (const popover of openPopovers()) if (!popover.contains(target)) close(popover, false);
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const popover of openPopovers()) close(popover, popover.contains(document.activeElement));
});

// Opened by keyboard: after a pointer's click on another popover the first one is closed already.
document.addEventListener(
  "toggle",
  ({ target }) => {
    if (!target.matches?.("details[data-popover][open]")) return;
    for (const popover of openPopovers()) {
      if (popover !== target && !popover.contains(target)) close(popover, false);
    }
    const panel = target.querySelector(".popover-panel");
    if (panel.getBoundingClientRect().right > document.documentElement.clientWidth) target.classList.add("popover-end");
  },
  true,
);
