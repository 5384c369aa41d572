// A classic script that runs before the first paint, so that a dark page never flashes light. Until a person selects a
// theme, the system's is used. The button's choice applies in this browser until the profile's theme changes.
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
    // Storage is blocked, so the profile's theme is used.
  }
  theme ||= matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.setAttribute("data-bs-theme", theme === "dark" ? "dark" : "light");
}
