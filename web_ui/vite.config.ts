import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// `npm run dev` hands the API to a platform started by `deskhand serve`; DESKHAND_URL says where it listens.
const platform = process.env.DESKHAND_URL ?? "http://127.0.0.1:8420";

export default defineConfig({
  plugins: [react(), tailwindcss()],
  build: {
    outDir: "../platform/deskhand_platform/static",
    emptyOutDir: true,
    target: "es2022",
  },
  server: { host: "127.0.0.1", proxy: { "/v1": { target: platform, ws: true }, "/login": platform, "/logout": platform } },
  test: { environment: "node", include: ["tests/**/*.test.ts"] },
});
