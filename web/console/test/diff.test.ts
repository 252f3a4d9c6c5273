import { describe, expect, it } from "vitest";

import { diff, hunks, inForm } from "../src/diff";

const said = (before: string, after: string) =>
  diff(before, after).map(({ sign, text }) => sign + text);

describe("what changed between two texts", () => {
  it("is told by lines, and gives both texts back", () => {
    const [before, after] = ["a\nb\nc\nd", "a\nx\nc\ne\nd"];
    const lines = diff(before, after);
    expect(said(before, after)).toEqual([" a", "-b", "+x", " c", "+e", " d"]);
    const side = (sign: string) =>
      lines
        .filter((line) => line.sign !== sign)
        .map(({ text }) => text)
        .join("\n");
    expect(side("+")).toBe(before);
    expect(side("-")).toBe(after);
  });

  it("is all of it where there was nothing", () => {
    expect(said("", "a\nb")).toEqual(["+a", "+b"]);
    expect(said("a", "")).toEqual(["-a"]);
    expect(said("a", "a")).toEqual([" a"]);
  });

  it("takes no longer than it may for long texts without anything in common", () => {
    const long = (word: string) => Array.from({ length: 5_000 }, (_, n) => word + n).join("\n");
    expect(diff(long("a"), long("b"))).toHaveLength(10_000);
  });

  it("leaves out what is far from a change, and says how much", () => {
    const many = Array.from({ length: 20 }, (_, n) => `${n}`).join("\n");
    const found = hunks(diff(many, many.replace("10", "ten")));
    expect(found[0]).toBe(7);
    expect(found).toHaveLength(1 + 3 + 2 + 3 + 1);
  });

  it("puts JSON in form, and leaves other texts", () => {
    expect(inForm('{"a":1}')).toBe('{\n  "a": 1\n}');
    expect(inForm("not {")).toBe("not {");
    expect(inForm({ a: 1 })).toBe('{\n  "a": 1\n}');
    expect(inForm(undefined)).toBe("");
  });
});
