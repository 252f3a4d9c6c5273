import { fileURLToPath } from "node:url";

import { defineConfig } from "vite";

import { files } from "../shared/worker/files";
import { serviceWorker } from "../shared/worker/plugin";
import { mockGateway } from "./mock/gateway";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const ICONS = [180, 192, 512].map((size) => at(`../device/public/icon-${size}.png`));

export default defineConfig({
  base: "./", // below whatever path the gateway serves it
  resolve: {
    alias: {
      "@crab/web-shared": at("../shared/src"),
      "@crab/device": at("../../clients/typescript/src"),
    },
  },
  plugins: [mockGateway(), serviceWorker(at("worker/push.js")), files(...ICONS)],
  build: {
    target: "es2021",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // the page allows no inline content
    reportCompressedSize: false,
  },
});
