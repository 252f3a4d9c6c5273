import { readFileSync } from "node:fs";

import ts from "typescript";
import { expect, test } from "vitest";

/** The modules that one module brings, and what they import that is not of this package. */
function reached(from: URL, seen = new Set<string>(), foreign = new Set<string>()): Set<string> {
  if (seen.has(from.href)) return foreign;
  seen.add(from.href);
  const text = readFileSync(from, "utf8");
  for (const { fileName: name } of ts.preProcessFile(text).importedFiles) {
    if (name.startsWith(".")) reached(new URL(name.replace(/\.js$/, ".ts"), from), seen, foreign);
    else foreign.add(name);
  }
  return foreign;
}
const source = (path: string) => new URL(`../src/${path}`, import.meta.url);

test("what a page imports needs nothing of Node, and nothing else", () => {
  expect([...reached(source("index.ts"))]).toEqual([]);
});

test("what a Node program imports needs nothing but Node", () => {
  const { exports } = JSON.parse(
    readFileSync(new URL("../package.json", import.meta.url), "utf8"),
  ) as { exports: Record<string, { default: string }> };
  for (const { default: built } of Object.values(exports)) {
    const path = built.replace("./dist/", "").replace(/\.js$/, ".ts");
    for (const name of reached(source(path))) expect(name).toMatch(/^node:/);
  }
});
