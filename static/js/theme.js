// A classic script: it runs before the first paint, so that a dark page never flashes light. Until a person chooses a
// theme, the system's is used. The button's choice holds in this browser until the profile's changes.
{
  const profile = document.documentElement.dataset.theme || "";
  let theme = profile;
  try {
    if ((localStorage.getItem("theme-of-profile") || "") !== profile) {
      localStorage.setItem("theme-of-profile", profile);
      localStorage.removeItem("theme");
    }
    theme = localStorage.getItem("theme") || profile;
  } catch {
    // Storage is blocked: the profile's theme.
  }
  theme ||= matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.setAttribute("data-bs-theme", theme === "dark" ? "dark" : "light");
}
