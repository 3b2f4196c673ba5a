// One script for each page (`--mode` says which), as a function that the page's frame calls: no modules, since a
// page that is opened from a disk may load none.  Frames of watched tags are modules, which pages are served or sent.
// PSE_PAGES is where bundles go: the package pse.views by default.
import { defineConfig, type BuildOptions } from "vite";

const BUNDLES: Record<string, [folder: string, file: string]> = {
  timeline: ["page", "page.js"],
  cube: ["cube", "cube.js"],
  embed: ["page", "element.js"],
};
const MODULES: Record<string, BuildOptions> = {
  frames: {},
  space: { license: { fileName: "licences.md" } },
};

const bundle = (mode: string, file: string): BuildOptions => ({
  lib: { entry: `${mode}/main.ts`, formats: ["iife"], name: "page", fileName: () => file },
});
const module = (mode: string): BuildOptions => ({
  modulePreload: { polyfill: false },
  chunkSizeWarningLimit: 1000,
  rolldownOptions: {
    input: `${mode}/main.ts`,
    preserveEntrySignatures: "strict",
    output: { codeSplitting: false, entryFileNames: `${mode}.js` },
  },
  ...MODULES[mode],
});

export default defineConfig(({ mode }) => {
  const [folder, file] = BUNDLES[mode] ?? ["frames"];
  return {
    logLevel: "warn",
    define: { "process.env.NODE_ENV": '"production"' },
    worker: { format: "iife" },
    build: {
      outDir: `${process.env.PSE_PAGES ?? ".."}/${folder}/assets`,
      emptyOutDir: false,
      target: "es2022",
      ...(file ? bundle(mode, file) : module(mode)),
    },
  };
});
