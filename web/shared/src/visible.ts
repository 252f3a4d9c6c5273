/** A part of a foreign text: as it is, or a character that would not be seen, named. */
export interface Piece {
  readonly text: string;
  readonly hidden: boolean;
}

// Controls, bidi marks and overrides, zero-width, variation selectors, tags, lone surrogates, and
// fillers that look like nothing: whatever moves, hides or forges the text around it. Line breaks
// and tabs are the caller's decision.
const UNSEEN = new RegExp(
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160" +
    "\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164" +
    "\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}" +
    "\\ud800-\\udfff]",
  "gu",
);
const BREAKS = /[\n\t]/g;

const named = (character: string): string => {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  return code > 0xffff ? `\\u{${hex}}` : `\\u${hex.padStart(4, "0")}`;
};

/** `text` cut into what may be shown and what has to be named; `lines` keeps \n and \t. */
export function pieces(text: string, lines = false): Piece[] {
  const source = lines
    ? text
    : text.replace(BREAKS, (character) => (character === "\n" ? "\u2028" : " "));
  const found: Piece[] = [];
  let from = 0;
  for (const match of source.matchAll(UNSEEN)) {
    if (match.index > from) found.push({ text: source.slice(from, match.index), hidden: false });
    const character = !lines && text[match.index] === "\n" ? "\n" : match[0];
    found.push({ text: character === "\n" ? "\\n" : named(character), hidden: true });
    from = match.index + match[0].length;
  }
  if (from < source.length) found.push({ text: source.slice(from), hidden: false });
  return found;
}

/** The same as one string, for titles, names of controls and the clipboard's preview. */
export const visible = (text: string): string =>
  pieces(text)
    .map((piece) => piece.text)
    .join("");

/** At most `most` characters, never half of one. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? most - 1 : most);
}
