// The open program: its text, its graph, and how one follows the other.

import { redo, undo } from "@codemirror/commands";
import { formatDocument } from "@codemirror/lsp-client";
import type { Text } from "@codemirror/state";
import { OpenText } from "./documents";
import type { Place, Point } from "./graph/boxes";
import { layOut, recallLayout } from "./graph/layout";
import { forgetPlaces, placesFor, rememberPlaces } from "./graph/memory";
import { type Scene, drawnScene } from "./graph/scene";
import { reveal } from "./graph/viewport";
import { query, request } from "./http";
import { isDifference, patched } from "./difference";
import type { Difference, EditAnswer, FileEntry, Operation, Palette, ProgramFile, ProgramGraph, Session, Target } from "./protocol";
import { busy, desk, oneByOne, report, say, update } from "./store";
import { applyEdits, selectSpan } from "./text/editor";
import type { Language } from "./text/language";
import { paintTokens, tokenColours } from "./text/tokens";

const BURST_MS = 50; // between two changes of the text that are drawn together

export const program = new OpenText("file");
export const { view } = program;
let language: Language;
let timer = 0;
let changedAt = -Infinity;
let awaited: Text | null = null; // whose graph the server was asked for
const inTurn = oneByOne();
let known: ProgramGraph | null = null; // what the server gave last, shown or not

export const useLanguage = (made: Language) => (language = made);

export const languagePlugin = (uri: string, id: string) => language.client.plugin(uri, id);

// Files.

export async function listFiles() {
  update({ files: (await request<{ files: FileEntry[] }>("GET", "files")).files });
}

export async function openProgram(path: string) {
  recallLayout(path);
  const file = await request<ProgramFile>("GET", `file?${query({ path })}`);
  showFile(file);
}

/** Begin a program that is not on disk until it is saved. */
export function newProgram(path: string) {
  const { session } = desk();
  const uri = `${session!.uri}/${path.split("/").map(encodeURIComponent).join("/")}`;
  showFile({ path, uri, text: "", revision: null });
}

const SHOWN = "pse-desk-program";

/** The program that this tab showed last in the desk's directory. */
export const shownLast = ({ uri }: Session) => sessionStorage.getItem(`${SHOWN} ${uri}`);

function showFile(file: Parameters<OpenText["show"]>[0]) {
  known = null;
  sessionStorage.setItem(`${SHOWN} ${desk().session!.uri}`, file.path);
  forgetPlaces();
  update({
    graph: null,
    folded: new Set(),
    selection: new Set(),
    layout: { places: new Map(), routes: new Map() },
    sites: null,
    colouring: "thread",
  });
  document.title = `${file.path} · pse desk`;
  program.show(file, [languagePlugin(file.uri, "coven"), tokenColours], { changed: textChanged, selected: textSelected });
  language.client.sync();
  void drawGraph().then(loadPalette); // the server reads all modules for the palette
}

/** Write the text to the disk; false if it is not there afterwards. */
export async function save(): Promise<boolean> {
  const saved = await program.save();
  if (saved) void listFiles();
  return saved;
}

/** Open something else; edits that aren't saved are saved first.  False if it is not open then. */
export async function leave(open: () => unknown): Promise<boolean> {
  if (program.edited && !(await save())) return false;
  try {
    await open();
    return true;
  } catch (error) {
    report(error);
    return false;
  }
}

// From text to graph.

function textChanged() {
  const burst = performance.now() < changedAt + BURST_MS;
  changedAt = performance.now();
  if (!awaited) drawIn(burst ? BURST_MS : 0);
}

/** Draw the text that there is after a pause. */
function drawIn(pause: number) {
  clearTimeout(timer);
  timer = window.setTimeout(drawGraph, pause);
}

/** What says that a text is longer than a program may be: then nothing of it is read. */
export const tooLong = (graph: ProgramGraph) => graph.diagnostics.find((one) => one.code === "E0009");

/** Ask for the graph of the present text, and draw it; if the text has changed meanwhile, ask for that of the new one. */
export async function drawGraph() {
  const { file } = desk();
  if (!file || !desk().connected) return;
  const asked = (awaited = view.state.doc);
  const answer = await language.ask<ProgramGraph | Difference>("coven/graph", file.uri, { since: known?.number ?? null }).catch(report);
  const graph = answer && received(answer);
  if (awaited === asked) awaited = null;
  if (view.state.doc !== asked) return drawIn(Math.max(changedAt + BURST_MS - performance.now(), 0));
  if (graph) {
    const before = desk().graph;
    await show(graph);
    if (before && ownModules(before) !== ownModules(graph)) void loadPalette();
    if (view.hasFocus) textSelected(view.state.selection.main.head);
  }
  void paintTokens(view, language.client, file.uri).catch(report);
}

/** What the palette has of the program itself. */
const ownModules = ({ imports, segments }: ProgramGraph) =>
  JSON.stringify([imports.map(({ path, alias, names }) => [path, alias, names]), segments.map(({ name }) => name)]);

/** Take what the server gave; null where it is about a graph that another answer has replaced. */
function received(answer: ProgramGraph | Difference): ProgramGraph | null {
  if (!isDifference(answer)) known = answer;
  else if (known?.number === answer.since) known = patched(known, answer);
  else return null;
  return known;
}

async function show(graph: ProgramGraph, placed = new Map<string, Place>()) {
  const ids = new Set([...graph.frames, ...graph.nodes].map((one) => one.id));
  const keep = (known: ReadonlySet<string>) => ([...known].every((id) => ids.has(id)) ? known : new Set([...known].filter((id) => ids.has(id))));
  const places = new Map([...placesFor(graph, view.state.doc.toString(), desk()), ...placed]);
  update({ graph, selection: keep(desk().selection), folded: keep(desk().folded) });
  const scene = drawnScene(graph, desk().folded, desk().scene);
  if (isArranged(scene, places)) rememberPlaces(graph, desk().layout.places);
  else await place(graph, scene, places);
}

/** Whether a scene is drawn already, in these places. */
function isArranged(made: Scene, known: Map<string, Place>): boolean {
  const { scene, layout } = desk();
  return made === scene && scene.boxes.every(({ id }) => known.get(id) === layout.places.get(id));
}

/** Give what is drawn its places; without known ones, all are new. */
export async function arrange(known: Map<string, Place>) {
  const { graph, folded } = desk();
  if (!graph) return;
  if (!known.size) forgetPlaces();
  await place(graph, drawnScene(graph, folded, desk().scene), known);
}

async function place(graph: ProgramGraph, scene: Scene, known: Map<string, Place>) {
  const layout = await busy(() => layOut(desk().file!.path, scene.boxes, scene.lines, known));
  if (desk().graph !== graph) return;
  const places = new Map([...known, ...layout.places]);
  update({ scene, layout: { ...layout, places } });
  rememberPlaces(graph, places);
}

export function fold(frames: Iterable<string>) {
  const folded = new Set(desk().folded);
  for (const id of frames) if (!folded.delete(id)) folded.add(id);
  update({ folded });
  return arrange(desk().layout.places);
}

// From graph to text.

/** Change the program by operations on its graph; the answer is what is then selected, null if it was refused. */
export const edit = (operations: Operation[], at?: Point) => inTurn(() => busy(() => editNow(operations, at)));

async function editNow(operations: Operation[], at?: Point): Promise<string[] | null> {
  const { file } = desk();
  const asked = view.state.doc;
  if (!file) return null;
  if (!desk().connected) {
    say("The graph can not be changed now: the server of this desk does not answer.", "The text can.");
    return null;
  }
  const answer = await language.ask<EditAnswer>("coven/edit", file.uri, { operations, since: known?.number ?? null }).catch(report);
  if (!answer) return null;
  if ("refused" in answer) return refused(answer.refused.message, answer.refused.help);
  const graph = received(answer.graph);
  if (view.state.doc !== asked) return refused("The text was changed at the same moment.", "Try again.");
  applyEdits(view, answer.edits);
  clearTimeout(timer);
  language.client.sync();
  const placed = at && answer.selection[0] ? [[answer.selection[0], { ...at, width: 0, height: 0 }] as const] : [];
  await (graph ? show(graph, new Map(placed)) : drawGraph());
  void paintTokens(view, language.client, file.uri).catch(report);
  if (answer.selection.length) {
    select(answer.selection);
    reveal(answer.selection[0]);
  }
  void loadPalette();
  return answer.selection;
}

/** Write the frame of a program into an empty file; true if there is one then. */
export async function beginProgram(): Promise<boolean> {
  const { graph, file } = desk();
  if (!file) return false;
  if (graph?.name) return true;
  const stem = file.path.split("/").at(-1)!.replace(/\.coven$/, "");
  const name = stem.replace(/\W/g, "_").replace(/^(?=\d)/, "_");
  return (await edit([{ op: "program", name }])) !== null;
}

function refused(message: string, help: string | null): null {
  say(message, help);
  return null;
}

export const undoEdit = () => undo(view);
export const redoEdit = () => redo(view);
export const format = () => formatDocument(view);

// Palette and connections.

export async function loadPalette() {
  const { file } = desk();
  if (!file || !desk().connected) return;
  const palette = await language.ask<Palette>("coven/palette", file.uri).catch(() => null);
  if (palette) update({ palette });
}

export async function askTargets(id: string, port: string): Promise<Target[]> {
  const answer = await language.ask<{ targets: Target[] }>("coven/canConnect", desk().file!.uri, { from: { id, port } });
  return answer.targets;
}

export const whyNot = (id: string, port: string, to: { id: string; port: string }) =>
  language.ask<{ ok: boolean; reason?: string; help?: string }>("coven/canConnect", desk().file!.uri, { from: { id, port }, to });

// Selection: the same on both sides.

/** Select in the graph and show it in the text. */
export function select(ids: Iterable<string>) {
  const selection = new Set(ids);
  update({ selection });
  const spans = [...(desk().graph?.nodes ?? []), ...(desk().graph?.frames ?? [])].filter((one) => selection.has(one.id));
  if (spans.length) selectSpan(view, spans[0].span);
}

/** Select in the graph what is written at a place of the text. */
function textSelected(offset: number) {
  const { graph } = desk();
  if (!graph) return;
  const within = [...graph.nodes, ...graph.frames].filter(({ span }) => span.start <= offset && offset <= span.end);
  const innermost = within.toSorted((one, other) => one.span.end - one.span.start - (other.span.end - other.span.start))[0];
  const ids = innermost ? [innermost.id] : [];
  const { selection } = desk();
  if (ids.length !== selection.size || !ids.every((id) => selection.has(id))) update({ selection: new Set(ids) });
}
