// The source of a module beside the program: written, saved, built; the compiler's messages stand at their lines.

import { syntaxHighlighting } from "@codemirror/language";
import { setDiagnostics } from "@codemirror/lint";
import { EditorView } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { query, request } from "./http";
import { ask } from "./inserting";
import { drawGraph, languagePlugin, listFiles, loadPalette, report } from "./program";
import type { Build, BuildMessage, ProgramFile } from "./protocol";
import { desk, note, say, update } from "./store";
import { editorState, replaceText } from "./text/editor";

export const sourceView = new EditorView();

const LANGUAGE_IDS: Record<string, string> = { py: "python", pyx: "cython", cc: "cpp", f90: "fortran" };

const ending = (path: string) => path.split(".").at(-1)!.toLowerCase();

export async function openSource(path: string, line = 1) {
  if (desk().source?.path !== path) {
    if (desk().source?.changed && !(await saveSource())) return;
    await showSource(await request<ProgramFile>("GET", `file?${query({ path })}`));
  }
  const at = sourceView.state.doc.line(Math.min(line, sourceView.state.doc.lines)).from;
  sourceView.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "start" }) });
}

async function showSource({ path, uri, text, revision }: Omit<ProgramFile, "kind">) {
  const kind = ending(path);
  const { languageOf } = await import("./text/languages");
  const language = [languageOf(kind), syntaxHighlighting(classHighlighter), languagePlugin(uri, LANGUAGE_IDS[kind] ?? kind)];
  update({ source: { path, uri, revision, changed: false }, build: null });
  sourceView.setState(editorState(text, language, { changed: () => mark(true), selected: () => undefined }));
}

function mark(changed: boolean, revision = desk().source!.revision) {
  const { source } = desk();
  if (source!.changed !== changed || source!.revision !== revision) update({ source: { ...source!, changed, revision } });
}

export async function closeSource() {
  if (!desk().source?.changed || (await saveSource())) update({ source: null, build: null });
}

export async function saveSource(): Promise<boolean> {
  const { path, revision } = desk().source!;
  const text = sourceView.state.doc.toString();
  const saved = await request<{ revision: string }>("PUT", "file", { path, text, revision }).catch(report);
  if (!saved) return false;
  mark(sourceView.state.doc.toString() !== text, saved.revision);
  void drawGraph();
  void loadPalette();
  return true;
}

/** Compile the source that is shown. */
export async function buildSource() {
  const { source } = desk();
  if (!source || (source.changed && !(await saveSource()))) return;
  const build = await request<Build>("POST", "builds", { path: source.path }).catch(report);
  if (!build || desk().source?.path !== source.path) return;
  update({ build });
  const here = build.messages.filter((message) => message.path === source.path);
  sourceView.dispatch(setDiagnostics(sourceView.state, here.map(diagnosticOf)));
}

function diagnosticOf({ line, column, severity, message }: BuildMessage) {
  const { doc } = sourceView.state;
  const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
  const from = Math.min(at.from + Math.max(column - 1, 0), at.to);
  return { from, to: at.to, severity, message, source: "compiler" };
}

/** The file that is shown was changed by somebody else. */
export async function sourceChangedOnDisk(path: string, revision: string | null) {
  const { source } = desk();
  if (source?.path !== path || source.revision === revision) return;
  if (source.changed || revision === null) {
    return say(`${path} was changed or deleted elsewhere.`, "Your text is kept here: copy it, then close and open the file again.");
  }
  const disk = await request<ProgramFile>("GET", `file?${query({ path })}`);
  replaceText(sourceView, disk.text);
  mark(false, disk.revision);
  note(`${path} was changed elsewhere: this is the new text.`);
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
  const made = await request<Omit<ProgramFile, "kind">>("POST", "modules", {
    name,
    language,
    ...(ports.length ? { ports } : {}),
  });
  if (desk().source?.changed && !(await saveSource())) return;
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
