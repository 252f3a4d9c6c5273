import type { Json } from "./schema";

export type Parsed =
  | { readonly value: Json }
  | { readonly line: number; readonly message: string };

const TOKEN = /\s*(?:("(?:[^"\\\u0000-\u001f]|\\.)*"|-?\d[\d.eE+-]*|true|false|null)|([[\]{}:,]))/y;

/** What may come next: a value, a name, a colon, or what follows a value. */
type Wanted = "value" | "name" | "colon" | "rest";

/** Where a text stops being JSON; engines differ in whether they tell. */
function brokenAt(text: string): number {
  const open: string[] = [];
  let wanted: Wanted = "value";
  let begun = false; // right behind a bracket, which may close at once
  TOKEN.lastIndex = 0;
  for (;;) {
    const from = TOKEN.lastIndex;
    const found = TOKEN.exec(text);
    if (!found) return from + (/^\s*/.exec(text.slice(from))?.[0].length ?? 0);
    const sign = found[2] ?? "";
    const inside = open[open.length - 1];
    const closes = sign !== "" && sign === (inside === "{" ? "}" : inside === "[" ? "]" : "");
    if (closes && (wanted === "rest" || begun)) {
      open.pop();
      wanted = "rest";
    } else if (wanted === "name" && found[1]?.startsWith('"')) wanted = "colon";
    else if (wanted === "value" && found[1] !== undefined) wanted = "rest";
    else if (wanted === "colon" && sign === ":") wanted = "value";
    else if (wanted === "rest" && sign === "," && inside)
      wanted = inside === "{" ? "name" : "value";
    else if (wanted === "value" && (sign === "{" || sign === "[")) {
      open.push(sign);
      wanted = sign === "{" ? "name" : "value";
      begun = true;
      continue;
    } else return from + found[0].length - 1;
    begun = false;
  }
}

/** What a text is as JSON, or where it stops being any (1 is the first line). */
export function parsed(text: string): Parsed {
  try {
    return { value: JSON.parse(text) as Json };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { line: text.slice(0, brokenAt(text)).split("\n").length, message };
  }
}

export const formatted = (value: Json): string => JSON.stringify(value, null, 2);
