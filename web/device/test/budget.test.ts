import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const FIRST = 28 * 1024; // gz: what is there before anything is painted
const LATER = 28 * 1024; // a paired device's part, which comes beside it
const root = fileURLToPath(new URL("..", import.meta.url));
const out = mkdtempSync(join(tmpdir(), "crab-device-"));
const assets = () => readdirSync(join(out, "assets"));
const size = (name: string) => gzipSync(readFileSync(join(out, "assets", name))).length;

beforeAll(() => build({ root, logLevel: "error", build: { outDir: out, emptyOutDir: true } }));
afterAll(() => rmSync(out, { recursive: true, force: true }));

describe("the built page", () => {
  it("is within its budget", () => {
    const [first = ""] = assets().filter((name) => /^index-.*\.js$/.test(name));
    expect(size(first)).toBeLessThan(FIRST);
    for (const name of assets().filter((each) => each.endsWith(".js") && each !== first))
      expect(size(name), name).toBeLessThan(LATER);
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
