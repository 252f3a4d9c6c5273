import { effect, type Signal, signal } from "@preact/signals";

import { type Language, language } from "@crab/web-shared/t";

export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];
export const LANGUAGES = ["en", "de"] as const;

export const theme = signal<Theme>("auto");
/** Whether single keys do something: who speaks to a browser may not want them (WCAG 2.1.4). */
export const singleKeys = signal(true);

const NAMES = { theme: "crab-theme", language: "crab-language", keys: "crab-single-keys" };

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
  singleKeys.value = localStorage.getItem(NAMES.keys) !== "off";
  effect(() => localStorage.setItem(NAMES.keys, singleKeys.value ? "on" : "off"));
  effect(() => {
    const root = document.documentElement;
    if (theme.value === "auto") delete root.dataset["theme"];
    else root.dataset["theme"] = theme.value;
    root.lang = language.value === "de" ? "de" : "en";
  });
}
