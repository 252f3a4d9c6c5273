import { fileURLToPath } from "node:url";

import { defineConfig, type Plugin } from "vite";

import { serviceWorker } from "../shared/worker/plugin";

/** `import()` as browsers have it: the page has one style sheet, and names its parts itself. */
const plainImports: Plugin = {
  name: "crab-plain-imports",
  enforce: "pre",
  apply: "build",
  load: (id) =>
    id.endsWith("vite/preload-helper.js") ? "export const __vitePreload = (read) => read();" : null,
};

/**
 * The page names all its parts, so that the worker keeps them together or not at all. What a paired
 * browser is shown comes beside the first part; browsers leave `crab-part` alone until it is
 * imported.
 */
const nameParts: Plugin = {
  name: "crab-name-parts",
  apply: "build",
  transformIndexHtml: {
    order: "post",
    handler: (_, { bundle = {} }) => {
      const scripts = Object.values(bundle).flatMap((file) => (file.type === "chunk" ? file : []));
      const shown = scripts.find(({ name }) => name === "paired");
      const early = [shown?.fileName, ...(shown?.imports ?? [])];
      return scripts
        .filter(({ isEntry, name }) => !isEntry && !/\bde$/.test(name)) // German comes if wanted
        .map(({ fileName }) => ({
          tag: "link",
          attrs: {
            rel: early.includes(fileName) ? "modulepreload" : "crab-part",
            href: `./${fileName}`,
          },
          injectTo: "head",
        }));
    },
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
  plugins: [
    plainImports,
    serviceWorker(at("worker/notices.js"), at("worker/wake.js")),
    nameParts,
  ],
  build: {
    target: "es2021",
    modulePreload: { polyfill: false },
    cssCodeSplit: false, // one sheet, named by the page
    assetsInlineLimit: 0, // the page allows no inline content
    reportCompressedSize: false,
  },
});
