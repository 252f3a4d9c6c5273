import { fileURLToPath } from "node:url";

import { defineConfig } from "vite";

import { serviceWorker } from "../shared/worker/plugin";
import { mockGateway } from "./mock/gateway";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  base: "./", // below whatever path the gateway serves it
  resolve: {
    alias: {
      "@crab/web-shared": at("../shared/src"),
      "@crab/device": at("../../clients/typescript/src"),
    },
  },
  plugins: [mockGateway(), serviceWorker(at("worker/push.js"))],
  build: {
    target: "es2021",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // the page allows no inline content
    reportCompressedSize: false,
  },
});
