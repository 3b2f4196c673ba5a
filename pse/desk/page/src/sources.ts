// The source of a module beside the program: written, saved, built; the compiler's messages stand at their lines.

import { syntaxHighlighting } from "@codemirror/language";
import { setDiagnostics } from "@codemirror/lint";
import { EditorView } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { OpenText } from "./documents";
import { query, request } from "./http";
import { ask } from "./inserting";
import { drawGraph, languagePlugin, listFiles, loadPalette } from "./program";
import type { Build, BuildMessage, ProgramFile } from "./protocol";
import { desk, report, update } from "./store";

export const source = new OpenText("source");
export const { view: sourceView } = source;

const LANGUAGE_IDS: Record<string, string> = { py: "python", pyx: "cython", cc: "cpp", f90: "fortran" };

const ending = (path: string) => path.split(".").at(-1)!.toLowerCase();

export async function openSource(path: string, line = 1) {
  if (desk().source?.path !== path) {
    if (!(await keep())) return;
    await showSource(await request<ProgramFile>("GET", `file?${query({ path })}`));
  }
  const at = sourceView.state.doc.line(Math.min(line, sourceView.state.doc.lines)).from;
  sourceView.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "start" }) });
}

async function showSource(file: Omit<ProgramFile, "kind">) {
  const kind = ending(file.path);
  const { languageOf } = await import("./text/languages");
  const language = [languageOf(kind), syntaxHighlighting(classHighlighter), languagePlugin(file.uri, LANGUAGE_IDS[kind] ?? kind)];
  update({ build: null });
  source.show(file, language, { changed: () => undefined, selected: () => undefined });
}

/** Save what would be lost without the source; false if it is not saved. */
const keep = async () => !source.edited || saveSource();

export async function closeSource() {
  if (await keep()) update({ source: null, build: null });
}

export async function saveSource(): Promise<boolean> {
  if (!(await source.save())) return false;
  void drawGraph();
  void loadPalette();
  return true;
}

/** Compile the source that is shown. */
export async function buildSource() {
  const { file } = source;
  if (!file || (file.changed && !(await saveSource()))) return;
  const build = await request<Build>("POST", "builds", { path: file.path }).catch(report);
  if (!build || source.file?.path !== file.path) return;
  update({ build });
  const here = build.messages.filter((message) => message.path === file.path);
  sourceView.dispatch(setDiagnostics(sourceView.state, here.map(diagnosticOf)));
}

function diagnosticOf({ line, column, severity, message }: BuildMessage) {
  const { doc } = sourceView.state;
  const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
  const from = Math.min(at.from + Math.max(column - 1, 0), at.to);
  return { from, to: at.to, severity, message, source: "compiler" };
}

// New modules.

export function askModule() {
  ask(
    "New module",
    [
      { name: "name", label: "Name", required: true },
      { name: "language", label: "Language", value: "c", choices: desk().session?.languages, required: true },
      { name: "ports", label: "Ports, for example: in f64 x[n], out f64 y[n]" },
    ],
    ({ name, language, ports }) => createModule(name, language, portsOf(ports)).catch(report),
  );
}

async function createModule(name: string, language: string, ports: object[]) {
  if (!(await keep())) return;
  const made = await request<Omit<ProgramFile, "kind">>("POST", "modules", {
    name,
    language,
    ...(ports.length ? { ports } : {}),
  });
  await showSource(made);
  void listFiles();
  void loadPalette();
}

/** Ports as a directive writes them: `in f64 x[n], out f64 y[n]`. */
function portsOf(text: string): object[] {
  const written = text.split(/,(?![^[(]*[\])])/).map((one) => one.trim()).filter(Boolean);
  return written.map((one) => {
    const [, direction, type, name, shape] = /^(\w+)\s+(\w+)\s+(\w+)\s*(\[.*\])?$/.exec(one) ?? [null, "", "", one, ""];
    return { direction, type: `${type}${shape ?? ""}`, name };
  });
}
