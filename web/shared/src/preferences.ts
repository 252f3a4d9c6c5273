import { effect, type Signal, signal } from "@preact/signals";

import { type Language, language } from "./t";

export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];
export const LANGUAGES = ["en", "de"] as const;

export const theme = signal<Theme>("auto");

const NAMES = { theme: "crab-theme", language: "crab-language" };

function kept<T extends string>(name: string, of: readonly T[], into: Signal<T>): void {
  const found = of.find((one) => one === localStorage.getItem(name));
  if (found !== undefined) into.value = found;
  effect(() => localStorage.setItem(name, into.value));
}

/** Reads what this browser keeps of a person's wishes, and keeps them from now on. */
export function keepPreferences(): void {
  const german = navigator.language.startsWith("de");
  language.value = german ? "de" : "en";
  kept(NAMES.theme, THEMES, theme);
  kept<Language>(NAMES.language, [...LANGUAGES, "pseudo"], language); // pseudo: for tests
  effect(() => {
    const root = document.documentElement;
    if (theme.value === "auto") delete root.dataset["theme"];
    else root.dataset["theme"] = theme.value;
    root.lang = language.value === "de" ? "de" : "en";
  });
}
