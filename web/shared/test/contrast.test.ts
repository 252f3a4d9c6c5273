import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";

const css = readFileSync(new URL("../src/tokens.css", import.meta.url), "utf8");

/** The colours of the block that `selector` begins. */
function colours(selector: string): Map<string, string> {
  const block = css.slice(css.indexOf(`${selector} {`)).split("}")[0] ?? "";
  return new Map(
    [...block.matchAll(/--([\w-]+): ([^;]+);/g)].map(([, name = "", value = ""]) => [name, value]),
  );
}

const light = colours(":root");
const dark = colours(':root:not([data-theme="light"])');

const channel = (value: number): number =>
  value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;

/** Relative luminance as WCAG 2.2 defines it. */
function luminance(hex: string): number {
  const parts = /^#(..)(..)(..)$/.exec(hex)?.slice(1) ?? expect.unreachable(`no colour: ${hex}`);
  const [r = 0, g = 0, b = 0] = parts.map((part) => channel(parseInt(part, 16) / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

const GROUNDS = ["paper", "card", "tint"];
const TEXTS: [string, string][] = [
  ...GROUNDS.flatMap((ground): [string, string][] =>
    ["ink", "quiet", "coral-deep"].map((text) => [text, ground]),
  ),
  ["red", "paper"],
  ["red", "card"],
  ["on-coral", "coral"],
  ["on-coral", "coral-deep"],
  ["ink", "red-tint"],
  ...["green", "red", "amber"].map((tone): [string, string] => [tone, `${tone}-tint`]),
];
const BOUNDS: [string, string][] = [
  ...GROUNDS.map((ground): [string, string] => ["edge", ground]),
  ...GROUNDS.map((ground): [string, string] => ["coral", ground]),
  ["green", "card"],
  ["red", "card"],
  ["amber", "card"],
];

describe.each([
  ["light", light],
  ["dark", dark],
])("the %s palette", (_, palette) => {
  const of = (name: string) => palette.get(name) ?? expect.unreachable(`no --${name}`);

  it.each(TEXTS)("lets --%s be read on --%s", (text, ground) => {
    expect(contrast(of(text), of(ground))).toBeGreaterThanOrEqual(4.5);
  });

  it.each(BOUNDS)("lets --%s be seen on --%s as the bound of a control", (bound, ground) => {
    expect(contrast(of(bound), of(ground))).toBeGreaterThanOrEqual(3);
  });
});

describe("the themes", () => {
  it("are the same whether the system or the person chose them", () => {
    expect(colours(':root[data-theme="dark"]')).toEqual(dark);
    expect(dark.size).toBe(light.size - 1); // the face of code has no theme
  });
});
