// Fields that apply only to some choices of another field and are hidden for the others. Without JavaScript all show.

function update(part) {
  const choice = document.getElementById(part.dataset.shownWith);
  const isShown = part.dataset.shownChoices.split(" ").includes(choice.value);
  // A field with an error is never hidden.
  part.hidden = !isShown && !part.querySelector(".is-invalid");
}

for (const part of document.querySelectorAll("[data-shown-with]")) {
  update(part);
  document.getElementById(part.dataset.shownWith).addEventListener("change", () => update(part));
}
