import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import type { Plugin } from "vite";

const shell = fileURLToPath(new URL("shell.js", import.meta.url));

/** Makes `sw.js` of the shell that all pages share and of what a page adds. */
export const serviceWorker = (...added: string[]): Plugin => ({
  name: "crab-service-worker",
  apply: "build",
  generateBundle() {
    const parts = [shell, ...added].map((path) => readFileSync(path, "utf8"));
    this.emitFile({ type: "asset", fileName: "sw.js", source: parts.join("\n") });
  },
});
