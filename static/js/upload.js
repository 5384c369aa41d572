// Upload of files: dropped or selected, sent with a progress bar; then the page of the import opens.
import { sizeError, uploadProgress, uploadResult } from "./lib/uploads.js";

const form = document.getElementById("upload");
const drop = document.getElementById("drop");
const input = document.getElementById("id_uploads");
const source = document.getElementById("id_source");
const newSource = document.getElementById("new-source");
const sure = document.getElementById("upload-sure");
const errors = document.getElementById("upload-errors");
const bar = document.getElementById("upload-bar");
const progressText = document.getElementById("upload-text");
const progress = document.getElementById("upload-progress");
const send = document.getElementById("upload-send");

function showNewSource() {
  if (source) newSource.hidden = source.value !== "";
  if (sure) sure.hidden = !sure.dataset.sources.split(" ").includes(source.value);
}

function showErrors(messages) {
  errors.replaceChildren(
    ...messages.map((message) => {
      const line = document.createElement("div");
      line.textContent = message;
      return line;
    }),
  );
  errors.hidden = !messages.length;
  progress.hidden = true;
  send.disabled = false;
  if (messages.length) errors.scrollIntoView({ block: "nearest" });
}

function clearFieldErrors() {
  for (const message of form.querySelectorAll("[data-refused]")) message.remove();
  for (const field of form.querySelectorAll("[data-described]")) {
    field.classList.remove("is-invalid");
    field.removeAttribute("aria-invalid");
    field.setAttribute("aria-describedby", field.dataset.described);
  }
}

function addFieldError(field, messages) {
  const error = document.createElement("div");
  error.className = "invalid-feedback d-block";
  error.id = `${field.id}_refused`;
  error.textContent = messages.join(" ");
  error.dataset.refused = "";
  field.after(error);
  field.classList.add("is-invalid");
  field.setAttribute("aria-invalid", "true");
  field.dataset.described ??= field.getAttribute("aria-describedby") || "";
  field.setAttribute("aria-describedby", `${field.dataset.described} ${error.id}`.trim());
}

function showFieldErrors(messagesByName) {
  const elsewhere = [];
  for (const [name, messages] of Object.entries(messagesByName)) {
    const field = form.querySelector(`#id_${CSS.escape(name)}`);
    if (field) addFieldError(field, messages);
    else elsewhere.push(...messages);
  }
  showErrors(elsewhere);
  const first = form.querySelector("[aria-invalid=true]");
  const details = first?.closest("details");
  if (details) details.open = true;
  first?.focus();
}

function showResult({ url, fieldErrors, message }) {
  if (url) location.assign(url);
  else if (fieldErrors) showFieldErrors(fieldErrors);
  else showErrors([message]);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const error = sizeError(input.files, Number(form.dataset.maxBytes));
  if (error) {
    showErrors([error]);
    return;
  }
  // Not fetch(): it does not report the progress of a request's body.
  const request = new XMLHttpRequest();
  request.open("POST", form.action || location.pathname);
  request.setRequestHeader("Accept", "application/json");
  request.upload.addEventListener("progress", (sent) => {
    if (!sent.lengthComputable) return;
    const { percent, text } = uploadProgress(sent);
    bar.value = percent;
    progressText.textContent = text;
  });
  request.addEventListener("load", () => showResult(uploadResult(request.status, request.responseText)));
  request.addEventListener("error", () => showErrors(["Connection lost. Nothing was imported. Try again."]));
  clearFieldErrors();
  errors.hidden = true;
  progress.hidden = false;
  send.disabled = true;
  request.send(new FormData(form));
});

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
showNewSource();
