import { fileURLToPath } from "node:url";

import { defineConfig, type Plugin } from "vite";

import { serviceWorker } from "../shared/worker/plugin";

/**
 * The page names the chunk of a paired device, so that it comes beside the first one and the worker
 * keeps both or neither.
 */
const nameLaterPart: Plugin = {
  name: "crab-later-part",
  apply: "build",
  transformIndexHtml: {
    order: "post",
    handler: (_, { bundle = {} }) =>
      Object.keys(bundle)
        .filter((file) => /^assets\/paired-.*\.js$/.test(file))
        .map((file) => ({
          tag: "link",
          attrs: { rel: "modulepreload", href: `./${file}` },
          injectTo: "head",
        })),
  },
};

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  base: "./", // below whatever path the gateway serves it
  resolve: {
    alias: {
      "@crab/device": at("../../clients/typescript/src/index.ts"),
      "@crab/web-shared": at("../shared/src"),
    },
  },
  plugins: [serviceWorker(at("worker/notices.js"), at("worker/wake.js")), nameLaterPart],
  build: {
    target: "es2021",
    modulePreload: { polyfill: false },
    cssCodeSplit: false, // one sheet, named by the page
    assetsInlineLimit: 0, // the page allows no inline content
    reportCompressedSize: false,
  },
});
