// The consent page. Nothing here is a check: the server makes them all.
(() => {
  // A click meant for a window that just went away (double-clickjacking) must not allow anything.
  const allow = document.querySelector('[name="decision"][value="allow"]');
  let pausing;
  function pause() {
    allow?.setAttribute("aria-disabled", "true");
    clearTimeout(pausing);
    pausing = setTimeout(() => allow?.removeAttribute("aria-disabled"), 500);
  }
  allow?.addEventListener("click", (event) => {
    if (allow.hasAttribute("aria-disabled")) event.preventDefault();
  });
  addEventListener("focus", pause);
  addEventListener("pageshow", pause);

  // An answer to an app's own scheme leaves this page where it is.
  const sent = document.querySelector("[data-consent-sent]");
  document.addEventListener("submit", (event) => {
    if (event.target.contains(sent)) setTimeout(() => (sent.hidden = false), 1500);
  });
  addEventListener("pageshow", () => (sent.hidden = true));
})();

// Writing is a choice only for an account in which the person may write.
(() => {
  const write = document.querySelector("[data-writes]");
  if (!write) return;
  const read = document.querySelector('input[name="access"][value="read"]');
  const why = document.getElementById(write.getAttribute("aria-describedby"));

  function follow() {
    const chosen = document.querySelector('input[name="account"]:checked, input[name="account"][type="hidden"]');
    const reason = chosen?.dataset.readsOnly || "";
    if (reason && write.checked) read.checked = true;
    write.disabled = reason !== "";
    if (why.textContent !== reason) why.textContent = reason;
  }

  document.addEventListener("change", follow);
  addEventListener("pageshow", follow);
  follow();
})();
