// Light or dark: what the system says, until somebody chooses.
const kept = localStorage.getItem("theme");
if (kept) document.documentElement.classList.add(kept);
addEventListener("DOMContentLoaded", () => {
  // mkdocs' search listens once its index is there; what was typed before counts too.
  const words = document.getElementById("mkdocs-search-query");
  const listen = words.addEventListener.bind(words);
  words.addEventListener = (kind, search) => {
    listen("input", search);
    if (words.value) search();
  };
  document.getElementById("theme").addEventListener("click", () => {
    const classes = document.documentElement.classList;
    const isDark = classes.contains("dark") ||
      (!classes.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
    const chosen = isDark ? "light" : "dark";
    classes.remove("light", "dark");
    classes.add(chosen);
    localStorage.setItem("theme", chosen);
  });
});
