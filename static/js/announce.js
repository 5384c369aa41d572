/** Says a sentence to screen readers, in the live region of every page (base.html). */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}
