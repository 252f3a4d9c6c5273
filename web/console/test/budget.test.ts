import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const KIB = 1024;
const root = fileURLToPath(new URL("..", import.meta.url));
const out = mkdtempSync(join(tmpdir(), "crab-console-"));
const assets = () => readdirSync(join(out, "assets"));
const gz = (end: string) =>
  assets()
    .filter((name) => name.endsWith(end))
    .map((name) => gzipSync(readFileSync(join(out, "assets", name))).length)
    .reduce((sum, size) => sum + size, 0);

beforeAll(() => build({ root, logLevel: "error", build: { outDir: out, emptyOutDir: true } }));
afterAll(() => rmSync(out, { recursive: true, force: true }));

describe("the built page", () => {
  it("is within its budget", () => {
    expect(gz(".js")).toBeGreaterThan(0);
    expect(gz(".js")).toBeLessThan(45 * KIB);
    expect(gz(".css")).toBeGreaterThan(0);
    expect(gz(".css")).toBeLessThan(14 * KIB);
  });

  it("asks for at most four files before it paints", () => {
    const page = readFileSync(join(out, "index.html"), "utf8");
    expect(page.match(/(?:src|href)="\.\//g)?.length).toBeLessThanOrEqual(3); // and itself
  });

  it("has digests in its names and nothing that the policy refuses", () => {
    for (const name of assets()) expect(name).toMatch(/-[\w-]{8}\.(js|css|svg)$/);
    const page = readFileSync(join(out, "index.html"), "utf8");
    expect(page).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|https?:\/\//);
  });
});

describe("the sources", () => {
  it("make no HTML out of strings", () => {
    for (const folder of ["src", "../shared/src"])
      for (const name of readdirSync(join(root, folder), { recursive: true }) as string[])
        if (/\.tsx?$/.test(name))
          expect(readFileSync(join(root, folder, name), "utf8")).not.toMatch(
            /innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|\beval\(|new Function/,
          );
  });
});
