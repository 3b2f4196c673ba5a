// The page of pse desk, with names that don't change from one build to the next, and the licences of what is in it.
// PSE_PAGES is where what is built goes: the folder pse/desk by default.
import { defineConfig } from "vite";

export default defineConfig({
  base: "./", // behind a proxy the page lies in some folder
  logLevel: "warn",
  build: {
    outDir: `${process.env.PSE_PAGES ?? ".."}/assets`,
    emptyOutDir: false,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 4000,
    license: { fileName: "licences.md" },
    rolldownOptions: {
      // React's "use client" means nothing where there is no rendering on a server.
      onLog: (level, log, handle) => log.code === "MODULE_LEVEL_DIRECTIVE" || handle(level, log),
      output: {
        entryFileNames: "assets/desk.js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
});
