// One script for each page (`--mode` says which), as a function that the page's frame calls: no modules, since a
// page that is opened from a disk may load none.  PSE_PAGES is where bundles go: the package pse.views by default.
import { defineConfig } from "vite";

const BUNDLES: Record<string, [folder: string, file: string]> = {
  timeline: ["page", "page.js"],
  cube: ["cube", "cube.js"],
  embed: ["page", "element.js"],
};

export default defineConfig(({ mode }) => {
  const [folder, file] = BUNDLES[mode];
  return {
    logLevel: "warn",
    define: { "process.env.NODE_ENV": '"production"' },
    worker: { format: "iife" },
    build: {
      outDir: `${process.env.PSE_PAGES ?? ".."}/${folder}/assets`,
      emptyOutDir: false,
      target: "es2022",
      lib: { entry: `${mode}/main.ts`, formats: ["iife"], name: "page", fileName: () => file },
    },
  };
});
