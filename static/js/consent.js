// The consent page. Nothing here is a security check: the server makes all of them.

// A click meant for a window that has just closed (double-clickjacking) must not grant access.
const allow = document.querySelector('[name="decision"][value="allow"]');
let pause;
function pauseAllow() {
  allow?.setAttribute("aria-disabled", "true");
  clearTimeout(pause);
  pause = setTimeout(() => allow?.removeAttribute("aria-disabled"), 500);
}
allow?.addEventListener("click", (event) => {
  if (allow.hasAttribute("aria-disabled")) event.preventDefault();
});
addEventListener("focus", pauseAllow);
addEventListener("pageshow", pauseAllow);

// After a redirect to an app's own URL scheme this page stays open: a note says that the response was sent.
const note = document.querySelector("[data-consent-sent]");
document.addEventListener("submit", (event) => {
  if (!event.target.contains(note)) return;
  setTimeout(() => {
    note.hidden = false;
  }, 1500);
});
addEventListener("pageshow", () => {
  if (note) note.hidden = true;
});

// Write access can be selected only for accounts in which the person may write.
const write = document.querySelector("[data-writes]");

function updateWriteChoice() {
  const account = document.querySelector('input[name="account"]:checked, input[name="account"][type="hidden"]');
  const reason = account?.dataset.readsOnly || "";
  if (reason && write.checked) document.querySelector('input[name="access"][value="read"]').checked = true;
  write.disabled = reason !== "";
  const description = document.getElementById(write.getAttribute("aria-describedby"));
  if (description.textContent !== reason) description.textContent = reason;
}

if (write) {
  document.addEventListener("change", updateWriteChoice);
  addEventListener("pageshow", updateWriteChoice);
  updateWriteChoice();
}
