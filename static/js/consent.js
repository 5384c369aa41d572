// The consent page: writing is a choice only for an account in which the person may write. The server checks it too.
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
