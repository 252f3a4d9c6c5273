import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";

const KIB = 1024;
const root = fileURLToPath(new URL("..", import.meta.url));
const out = mkdtempSync(join(tmpdir(), "crab-console-"));
const assets = () => readdirSync(join(out, "assets"));
const size = (name: string) => gzipSync(readFileSync(join(out, "assets", name))).length;
const sum = (names: string[]) => names.map(size).reduce((all, one) => all + one, 0);
const ending = (end: string) => assets().filter((name) => name.endsWith(end));
/** What index.html names is there before anything is painted. */
const first = (end: string) => {
  const page = readFileSync(join(out, "index.html"), "utf8");
  return ending(end).filter((name) => page.includes(name));
};

// As the gateway's build does it: what tests set would bring the libraries' checks along.
beforeAll(async () => {
  vi.stubEnv("NODE_ENV", "production");
  await build({ root, logLevel: "error", build: { outDir: out, emptyOutDir: true } });
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(out, { recursive: true, force: true });
});

describe("the built page", () => {
  it("is within its budget", () => {
    expect(first(".js").length).toBeGreaterThan(0);
    expect(sum(first(".js"))).toBeLessThan(45 * KIB);
    for (const name of ending(".js")) expect(size(name), name).toBeLessThan(30 * KIB);
    expect(sum(ending(".js"))).toBeLessThan(120 * KIB);
    expect(first(".css").length).toBeGreaterThan(0);
    expect(sum(ending(".css"))).toBeLessThan(14 * KIB);
  });

  it("asks for at most four files before it paints", () => {
    // What the home screen wants is asked for later, if at all.
    const page = readFileSync(join(out, "index.html"), "utf8").replace(
      /<link rel="(?:manifest|apple-touch-icon)"[^>]*>/g,
      "",
    );
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
