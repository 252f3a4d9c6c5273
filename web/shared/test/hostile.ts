import { readFileSync } from "node:fs";

/** One text, or a flood of it. */
type Entry = string | { readonly text: string; readonly times: number };

const file = new URL("hostile.json", import.meta.url);
const groups = JSON.parse(readFileSync(file, "utf8")) as Record<string, readonly Entry[]>;

/** Texts that somebody wrote to be read as something else. Two hundred, for every component that
 * shows texts of others (A18); the console's test in a browser reads the same file. */
export const HOSTILE: readonly string[] = Object.values(groups)
  .flat()
  .map((entry) => (typeof entry === "string" ? entry : entry.text.repeat(entry.times)));
