import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";

const KIB = 1024; // gz
const SHOWN = 28 * KIB; // until a paired browser shows what it is and what it offers
const PAIRS = 21 * KIB; // until one that is not can be paired
const LATER = 14 * KIB; // a part that comes after that
const ALL = 45 * KIB; // everything in one language
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
  /** The script of that name. */
  const script = (name: string) => {
    const found = assets().filter((file) => new RegExp(`^${name}-[\\w-]{8}\\.js$`).test(file));
    expect(found, name).toHaveLength(1);
    return found[0] ?? "";
  };
  /** These and what they import before they run. */
  const whole = (names: readonly string[]): string[] => {
    const all = new Set(names);
    for (const name of all) // grows while it is read
      for (const [, file = ""] of readFileSync(join(out, "assets", name), "utf8").matchAll(
        /(?:from|import)\s*"\.\/([^"]+)"/g,
      ))
        all.add(file);
    return [...all];
  };
  const sizes = (names: readonly string[]) => names.map(size).reduce((sum, one) => sum + one, 0);

  it("is within its budget", () => {
    const shown = whole([script("index"), script("paired")]);
    expect(sizes(shown)).toBeLessThan(SHOWN);
    expect(sizes(whole([script("index"), script("pairing")]))).toBeLessThan(PAIRS);
    const all = assets().filter((name) => name.endsWith(".js") && !/\bde-/.test(name));
    const later = all.filter((name) => !shown.includes(name));
    expect(later).toContain(script("answering"));
    for (const name of later) expect(size(name), name).toBeLessThan(LATER);
    expect(sizes(all)).toBeLessThan(ALL);
  });

  it("names all its parts, so that the worker keeps them together, and reads few early", () => {
    const page = readFileSync(join(out, "index.html"), "utf8");
    const named = (rel: string) =>
      [...page.matchAll(new RegExp(`<link rel="${rel}"[^>]* href="\\./assets/([^"]+)"`, "g"))]
        .map(([, file = ""]) => file)
        .sort();
    const early = whole([script("paired")]).filter((name) => name !== script("index"));
    expect(named("modulepreload")).toEqual(early.sort());
    const scripts = assets().filter((name) => name.endsWith(".js") && !/\bde-/.test(name));
    const later = scripts.filter((name) => ![script("index"), ...early].includes(name));
    expect(named("crab-part")).toEqual(later.sort());
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
