// One script with the language client in it; VS Code supplies the module `vscode`, Node.js its own.
import { builtinModules } from "node:module";
import { defineConfig } from "vite";

export default defineConfig({
  logLevel: "warn",
  ssr: { noExternal: true },
  build: {
    ssr: "src/extension.ts",
    outDir: "dist",
    target: "node20",
    minify: true,
    license: { fileName: "licences.md" },
    rolldownOptions: {
      external: ["vscode", ...builtinModules, ...builtinModules.map((name) => `node:${name}`)],
      output: { format: "cjs", entryFileNames: "extension.js", codeSplitting: false },
    },
  },
});
