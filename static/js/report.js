// "Save as PDF" is the browser's print dialog: the style sheet has the layout of the paper.
for (const button of document.querySelectorAll("[data-print]")) {
  button.addEventListener("click", () => window.print());
}
