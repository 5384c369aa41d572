// A classic script: it runs before the first paint, so that a dark page never flashes light. Until a person chooses a
// theme, the system's is used.
{
  let theme = null;
  try {
    theme = localStorage.getItem("theme");
  } catch {
    // Storage is blocked: the system's theme.
  }
  theme ||= matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.setAttribute("data-bs-theme", theme === "dark" ? "dark" : "light");
}
