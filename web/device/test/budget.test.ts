import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";

const FIRST = 28 * 1024; // gz: what is there before anything is painted
const LATER = 28 * 1024; // a paired device's part, which comes beside it
const ALL = 41 * 1024; // both, in one language
const root = fileURLToPath(new URL("..", import.meta.url));
const out = mkdtempSync(join(tmpdir(), "crab-device-"));
const assets = () => readdirSync(join(out, "assets"));
const size = (name: string) => gzipSync(readFileSync(join(out, "assets", name))).length;

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
    const [first = ""] = assets().filter((name) => /^index-.*\.js$/.test(name));
    expect(size(first)).toBeLessThan(FIRST);
    for (const name of assets().filter((each) => each.endsWith(".js") && each !== first))
      expect(size(name), name).toBeLessThan(LATER);
    const all = assets().filter((name) => /^(?!de-).*\.js$/.test(name));
    expect(all.map(size).reduce((sum, one) => sum + one, 0)).toBeLessThan(ALL);
  });

  it("names every part that a paired device needs, so that the worker keeps them together", () => {
    const page = readFileSync(join(out, "index.html"), "utf8");
    for (const name of assets().filter((each) => !each.startsWith("de-")))
      expect(page).toContain(`"./assets/${name}"`);
  });

  it("has digests in its names and nothing that the policy refuses", () => {
    for (const name of assets()) expect(name).toMatch(/-[\w-]{8}\.(js|css)$/);
    const page = readFileSync(join(out, "index.html"), "utf8");
    expect(page).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|https?:\/\//);
    for (const name of assets())
      expect(readFileSync(join(out, "assets", name), "utf8")).not.toMatch(
        /insertAdjacentHTML|\beval\(/,
      );
  });

  it("has its worker, with the shell that all pages share", () => {
    const worker = readFileSync(join(out, "sw.js"), "utf8");
    expect(worker).toMatch(/addEventListener\("fetch"/);
    expect(worker).toMatch(/addEventListener\("notificationclick"/);
  });
});
