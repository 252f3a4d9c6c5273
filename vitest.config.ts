import { fileURLToPath } from "node:url";

import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: {
    alias: {
      "@crab/device": fileURLToPath(new URL("clients/typescript/src/index.ts", import.meta.url)),
      "@crab/web-shared": fileURLToPath(new URL("web/shared/src", import.meta.url)),
    },
  },
  test: {
    include: ["clients/typescript/test/**/*.test.ts", "web/*/test/**/*.test.ts"],
    environment: "node",
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
