import { effect, signal } from "@preact/signals";

import { keepPreferences } from "@crab/web-shared/preferences";

/** Whether single keys do something: who speaks to a browser may not want them (WCAG 2.1.4). */
export const singleKeys = signal(true);

const NAME = "crab-single-keys";

/** Reads what this browser keeps of a person's wishes, and keeps them from now on. */
export function keepAllPreferences(): void {
  keepPreferences();
  singleKeys.value = localStorage.getItem(NAME) !== "off";
  effect(() => localStorage.setItem(NAME, singleKeys.value ? "on" : "off"));
}
