import { describe, expect, it } from "vitest";

import { cut, pieces, visible } from "../src/visible";

const hostile = [
  ..."\u0000\u0007\u001b\u007f\u0085\u00ad\u034f\u061c\u115f\u180e\u200b\u200d\u200e\u200f\u2028",
  ..."\u2029\u202a\u202b\u202c\u202d\u202e\u2060\u2064\u2066\u2067\u2068\u2069\u206f\u3164\ufe0f",
  ..."\ufeff\uffa0\ufff9\u{e0001}\u{e007f}\u{1d173}",
  "\ud800",
  "\udfff",
];

describe("a foreign text", () => {
  it.each(hostile)("shows unseen character %j by its number", (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    expect(visible(`a${character}b`)).toMatch(new RegExp(`^a\\\\u\\{?0*${code}\\}?b$`));
    expect(pieces(`a${character}b`).filter((piece) => piece.hidden)).toHaveLength(1);
  });

  it("keeps what people write, in any script", () => {
    for (const text of ["Grüße, 世界", "שלום", "a & <b onload=x>", "👍 🇩🇪", ""])
      expect(visible(text)).toBe(text);
  });

  it("names a line break in one line and keeps it in many", () => {
    expect(visible("a\nb\tc")).toBe("a\\nb c");
    expect(pieces("a\nb\tc", true)).toEqual([{ text: "a\nb\tc", hidden: false }]);
    expect(visible("a\r\nb")).toBe("a\\u000d\\nb");
  });

  it("is cut between characters", () => {
    expect(cut("ab👍", 3)).toBe("ab");
    expect(cut("ab👍", 4)).toBe("ab👍");
  });
});
