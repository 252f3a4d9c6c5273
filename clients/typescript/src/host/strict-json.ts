import type { Json } from "../frames.js";

const mostDepth = 64;

/**
 * Reads one JSON text as RTP wants it: UTF-8, at most 64 deep, no name twice in an object. Throws a
 * SyntaxError that says what is wrong.
 */
export function parseStrict(bytes: Uint8Array): Json {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new SyntaxError("the request is not UTF-8");
  }
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    throw new SyntaxError("the request is not JSON");
  }
  checkMembers(text);
  return value;
}

/** JSON.parse() has read the text, so that only what it lets pass is looked for. */
function checkMembers(text: string): void {
  const open: Array<Set<string> | undefined> = []; // names of each object; undefined: an array
  let expectsName = false;
  for (let at = 0; at < text.length; ++at) {
    switch (text[at]) {
      case "{":
      case "[":
        open.push(text[at] === "{" ? new Set() : undefined);
        if (open.length > mostDepth)
          throw new SyntaxError(`the request is nested deeper than ${mostDepth}`);
        expectsName = text[at] === "{";
        break;
      case "}":
      case "]":
        open.pop();
        expectsName = false;
        break;
      case ",":
        expectsName = open[open.length - 1] !== undefined;
        break;
      case '"': {
        const begin = at;
        for (++at; text[at] !== '"'; ++at) if (text[at] === "\\") ++at;
        if (!expectsName) break;
        expectsName = false;
        const name = JSON.parse(text.slice(begin, at + 1)) as string;
        const names = open[open.length - 1];
        if (names?.has(name)) throw new SyntaxError("the request has two members of one name");
        names?.add(name);
        break;
      }
    }
  }
}

/** JSON with members in order of their names, so that equal values have equal texts. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] as Json)}`);
  return `{${members.join(",")}}`;
}
