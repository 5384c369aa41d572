// Uploading: files are dropped or chosen, sent as a stream with progress, and the page of the import opens.
(() => {
  const form = document.getElementById("upload");
  const drop = document.getElementById("drop");
  const input = document.getElementById("id_uploads");
  const source = document.getElementById("id_source");
  const newSource = document.getElementById("new-source");
  const errors = document.getElementById("upload-errors");
  const bar = document.getElementById("upload-bar");
  const text = document.getElementById("upload-text");
  const progress = document.getElementById("upload-progress");
  const send = document.getElementById("upload-send");

  function showNewSource() {
    if (source) newSource.hidden = source.value !== "";
  }

  function show(messages) {
    errors.replaceChildren(
      ...messages.map((message) => {
        const line = document.createElement("div");
        line.textContent = message;
        return line;
      }),
    );
    errors.hidden = false;
    progress.hidden = true;
    send.disabled = false;
    errors.scrollIntoView({ block: "nearest" });
  }

  function forget() {
    for (const note of form.querySelectorAll("[data-refused]")) note.remove();
    for (const field of form.querySelectorAll("[data-described]")) {
      field.classList.remove("is-invalid");
      field.removeAttribute("aria-invalid");
      field.setAttribute("aria-describedby", field.dataset.described);
    }
  }

  // Beside its field and read out with it; the first is where one goes on.
  function note(field, messages) {
    const text = document.createElement("div");
    Object.assign(text, { className: "invalid-feedback d-block", id: `${field.id}_refused`, textContent: messages.join(" ") });
    text.dataset.refused = "";
    field.after(text);
    field.classList.add("is-invalid");
    field.setAttribute("aria-invalid", "true");
    field.dataset.described ??= field.getAttribute("aria-describedby") || "";
    field.setAttribute("aria-describedby", `${field.dataset.described} ${text.id}`.trim());
  }

  function refuse(byField) {
    const said = Object.entries(byField).map(([name, messages]) => [form.querySelector(`#id_${CSS.escape(name)}`), messages]);
    const elsewhere = said.filter(([field]) => !field).flatMap(([, messages]) => messages);
    show(elsewhere);
    errors.hidden = !elsewhere.length;
    for (const [field, messages] of said) if (field) note(field, messages);
    const [first] = form.querySelectorAll("[aria-invalid=true]");
    const folded = first?.closest("details");
    if (folded) folded.open = true;
    first?.focus();
  }

  function megabytes(bytes) {
    return `${(bytes / 1e6).toLocaleString("en", { maximumFractionDigits: 1 })} MB`;
  }

  function answered(request) {
    let answer = {};
    try {
      answer = JSON.parse(request.responseText);
    } catch {
      // An error page: its status says enough.
    }
    if (request.status === 202) return location.assign(answer.url);
    if (answer.errors) return refuse(answer.errors);
    if (request.status === 403) return show(["You may not upload here, or the form has expired. Reload the page and try again."]);
    if (request.status === 413) return show(["The files are larger than this server takes."]);
    return show([`The server could not take the files (status ${request.status}). Nothing was imported; try again.`]);
  }

  function submit(event) {
    event.preventDefault();
    const size = [...input.files].reduce((sum, file) => sum + file.size, 0);
    if (size > Number(form.dataset.maxBytes)) return show([`The files have ${megabytes(size)}; this server takes ${megabytes(Number(form.dataset.maxBytes))} at once.`]);
    const request = new XMLHttpRequest();
    request.open("POST", form.action || location.pathname);
    request.setRequestHeader("Accept", "application/json");
    request.upload.addEventListener("progress", (moved) => {
      if (!moved.lengthComputable) return;
      const percent = Math.floor((moved.loaded / moved.total) * 100);
      bar.value = percent;
      text.textContent = `${percent} % of ${megabytes(moved.total)}`;
    });
    request.addEventListener("load", () => answered(request));
    request.addEventListener("error", () => show(["The connection broke. Nothing was imported; try again."]));
    forget();
    errors.hidden = true;
    progress.hidden = false;
    send.disabled = true;
    request.send(new FormData(form));
  }

  for (const name of ["dragenter", "dragover"]) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.add("drop-over");
    });
  }
  for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("drop-over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length) input.files = event.dataTransfer.files;
  });
  source?.addEventListener("change", showNewSource);
  form.addEventListener("submit", submit);
  showNewSource();
})();
