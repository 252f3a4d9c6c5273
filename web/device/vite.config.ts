import { fileURLToPath } from "node:url";

import { defineConfig } from "vite";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  base: "./", // below whatever path the gateway serves it
  resolve: { alias: { "@crab/device": at("../../clients/typescript/src/index.ts") } },
  build: {
    target: "es2021",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // the page allows no inline content
    reportCompressedSize: false,
  },
});
