import { readFileSync } from "node:fs";
import { basename } from "node:path";

import type { Plugin } from "vite";

/** Puts files of another page beside this one's, under their own names. */
export const files = (...paths: string[]): Plugin => ({
  name: "crab-files",
  apply: "build",
  generateBundle() {
    for (const path of paths)
      this.emitFile({ type: "asset", fileName: basename(path), source: readFileSync(path) });
  },
});
