// "Save as PDF" opens the browser's print dialog: the style sheet has the print layout.
for (const button of document.querySelectorAll("[data-print]")) {
  button.addEventListener("click", () => window.print());
}
