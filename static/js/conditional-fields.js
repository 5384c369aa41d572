// Fields that only some choices of another field show or require. Without JavaScript all show.

const listOf = (text) => text.split(" ");

function updateVisibility(part) {
  const choice = document.getElementById(part.dataset.shownWith);
  const isShown = listOf(part.dataset.shownChoices).includes(choice.value);
  // A field with an error is never hidden.
  part.hidden = !isShown && !part.querySelector(".is-invalid");
}

function updateRequirement(part) {
  const choice = document.getElementById(part.dataset.requiredWith);
  const replacement = document.getElementById(part.dataset.requiredUnless);
  const isChosen = listOf(part.dataset.requiredChoices).includes(choice.value);
  const pair = document.getElementById(part.dataset.requiredPair);
  const isPaired = listOf(part.dataset.pairChoices ?? "").includes(choice.value) && pair.value.trim() !== "";
  const isRequired = isChosen ? !replacement?.value.trim() : isPaired;
  // Browsers and screen readers treat it as any required field.
  part.querySelector("input, select, textarea").required = isRequired;
  part.querySelector("label").classList.toggle("required", isRequired);
}

function follow(id, update) {
  document.getElementById(id)?.addEventListener("input", update);
}

for (const part of document.querySelectorAll("[data-shown-with]")) {
  updateVisibility(part);
  follow(part.dataset.shownWith, () => updateVisibility(part));
}

for (const part of document.querySelectorAll("[data-required-with]")) {
  updateRequirement(part);
  follow(part.dataset.requiredWith, () => updateRequirement(part));
  follow(part.dataset.requiredUnless, () => updateRequirement(part));
  follow(part.dataset.requiredPair, () => updateRequirement(part));
}
