import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["clients/typescript/test/**/*.test.ts", "web/*/test/**/*.test.ts"],
    environment: "node",
    testTimeout: 60_000,
  },
});
