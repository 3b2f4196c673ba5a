// All that the desk does, by name and by key.

import { insertionAfter } from "./graph/dropping";
import { showAll } from "./graph/viewport";
import { ask, askParameter, askPartition, titleOf } from "./inserting";
import { add, groupsOf } from "./panels/Modules";
import { threadChoices } from "./panels/Properties";
import {
  arrange,
  askTargets,
  edit,
  fold,
  format,
  leave,
  listFiles,
  newProgram,
  openProgram,
  redoEdit,
  save,
  select,
  undoEdit,
  view,
} from "./program";
import type { ProgramNode, Target } from "./protocol";
import { going, shownRun, stop } from "./runs";
import { askModule, buildSource, openSource, saveSource } from "./sources";
import { type ChooserItem, type Desk, type Theme, busy, desk, note, report, update } from "./store";

export interface Command {
  title: string;
  keys?: string; // "Ctrl+" is the command key of a Mac as well
  graphOnly?: boolean; // the key means something else in a text
  possible?: (desk: Desk) => boolean; // always, where it is left out
  run: () => unknown;
}

const hasProgram = (desk: Desk) => desk.file !== null;

const runsNow = (desk: Desk) => going(desk.runs.find((run) => run.id === desk.shownRun));

export const COMMANDS: Command[] = [
  { title: "All commands", keys: "Ctrl+K", run: () => chooseCommand() },
  { title: "Open a program…", keys: "Ctrl+O", run: () => chooseProgram() },
  { title: "New program…", run: () => askProgram() },
  { title: "New module…", run: () => askModule() },
  { title: "Open a module’s source…", run: () => chooseSource() },
  { title: "Build the module’s source", keys: "Ctrl+B", run: () => buildSource() },
  { title: "Save", keys: "Ctrl+S", possible: (desk) => hasProgram(desk) || desk.source !== null, run: () => saveAll() },
  { title: "Undo", keys: "Ctrl+Z", possible: hasProgram, run: () => undoEdit() },
  { title: "Redo", keys: "Ctrl+Shift+Z", possible: hasProgram, run: () => redoEdit() },
  { title: "Format the text", keys: "Ctrl+Shift+F", run: () => format() },
  { title: "Run the program", keys: "Ctrl+Enter", possible: (desk) => hasProgram(desk) && !runsNow(desk), run: () => runProgram() },
  { title: "Stop the run", keys: "Ctrl+.", run: () => shownRun() && stop(shownRun()!.id) },
  { title: "Add a module or statement…", keys: "A", graphOnly: true, run: () => chooseModule() },
  { title: "Connect an output…", keys: "C", graphOnly: true, run: () => chooseOutput() },
  { title: "Move to a thread…", keys: "T", graphOnly: true, run: () => chooseThread() },
  { title: "Select nothing", keys: "Escape", graphOnly: true, run: () => update({ selection: new Set() }) },
  { title: "Delete", keys: "Delete", graphOnly: true, run: () => remove() },
  { title: "Copy", keys: "Ctrl+C", graphOnly: true, run: () => update({ copied: [...desk().selection] }) },
  { title: "Paste", keys: "Ctrl+V", graphOnly: true, run: () => paste() },
  { title: "Group into a segment…", keys: "Ctrl+G", graphOnly: true, run: () => group() },
  { title: "Take a segment apart", keys: "Ctrl+Shift+G", graphOnly: true, run: () => ungroup() },
  { title: "Put into a block…", keys: "W", graphOnly: true, run: () => wrap() },
  { title: "Move up in the text", keys: "Alt+ArrowUp", graphOnly: true, run: () => moveBy(-1) },
  { title: "Move down in the text", keys: "Alt+ArrowDown", graphOnly: true, run: () => moveBy(1) },
  { title: "Fold or unfold", keys: "F", graphOnly: true, run: () => foldSelection() },
  { title: "Fold all", run: () => foldAll() },
  { title: "Find in the graph…", keys: "Ctrl+F", graphOnly: true, run: () => findInGraph() },
  { title: "Lay the graph out anew", keys: "L", graphOnly: true, run: () => busy(() => arrange(new Map()).then(showAll)) },
  { title: "Show the whole graph", keys: "0", graphOnly: true, run: () => showAll() },
  { title: "Add a parameter…", run: () => askParameter() },
  { title: "Add a partition…", run: () => askPartition() },
  { title: "Go to the graph", keys: "F6", run: () => document.querySelector<HTMLElement>(".react-flow__node")?.focus() },
  { title: "Go to the text", keys: "Shift+F6", run: () => view.focus() },
  { title: "Search modules", keys: "Ctrl+M", run: () => document.getElementById("module-search")?.focus() },
  { title: "Show or hide the run", keys: "Ctrl+J", run: () => update({ drawer: desk().drawer ? null : "run" }) },
  { title: "Show the list of runs", run: () => update({ drawer: "runs" }) },
  { title: "Show problems", run: () => update({ drawer: "problems" }) },
  { title: "Colour by thread", run: () => update({ colouring: "thread" }) },
  { title: "Colour by time", run: () => update({ colouring: "time" }) },
  { title: "Colour by CPU", run: () => update({ colouring: "cpu" }) },
  { title: "Colour by waiting", run: () => update({ colouring: "waiting" }) },
  { title: "Colour by share of the critical path", run: () => update({ colouring: "critical" }) },
  { title: "Light", run: () => setTheme("light") },
  { title: "Dark", run: () => setTheme("dark") },
  { title: "Light or dark as the system", run: () => setTheme("auto") },
];

const choose = (title: string, items: ChooserItem[]) => update({ dialog: { kind: "choose", title, items } });

// Keys.

/** The command of a key; keys that mean something in a text field are left to it. */
export function commandOf(event: KeyboardEvent): Command | undefined {
  const keys = spelled(event);
  const target = event.target as HTMLElement;
  if (keys === "Ctrl+C" && String(getSelection())) return undefined;
  const typing = target.closest("input, select, textarea, .cm-content") !== null;
  const own = target.closest(".cm-content") !== null ? ["Ctrl+Z", "Ctrl+Shift+Z"] : [];
  return COMMANDS.find((command) => command.keys === keys && !(typing && command.graphOnly) && !own.includes(keys));
}

function spelled(event: KeyboardEvent): string {
  const key = event.key.length === 1 ? event.key.toUpperCase() : event.key === "Backspace" ? "Delete" : event.key;
  const held = [event.ctrlKey || event.metaKey ? "Ctrl" : "", event.altKey ? "Alt" : "", event.shiftKey ? "Shift" : ""];
  return [...held.filter(Boolean), key].join("+");
}

// What the commands do.

function chooseCommand() {
  choose("What to do", COMMANDS.slice(1).map(({ title, keys, run }) => ({ title, keys, run: () => void run() })));
}

async function chooseProgram() {
  await listFiles().catch(report);
  const programs = desk().files.filter((file) => file.kind === "program");
  choose("Open a program", programs.map(({ path }) => ({ title: path, run: () => void leave(() => openProgram(path)) })));
}

async function chooseSource() {
  await listFiles().catch(report);
  const sources = desk().files.filter((file) => file.kind === "module");
  choose("Open a module’s source", sources.map(({ path }) => ({ title: path, run: () => void openSource(path).catch(report) })));
}

async function saveAll() {
  await save();
  if (desk().source?.changed) await saveSource();
}

function askProgram() {
  ask("New program", [{ name: "name", label: "File", value: "program.coven", required: true }], ({ name }) => {
    const path = name.endsWith(".coven") ? name : `${name}.coven`;
    const there = desk().files.some((file) => file.path === path);
    void leave(() => (there ? openProgram(path) : newProgram(path)));
  });
}

function runProgram() {
  update({ drawer: "run" });
  if (!runsNow(desk())) document.querySelector<HTMLFormElement>("#run-form")!.requestSubmit();
}

function chooseModule() {
  const items = groupsOf(desk().palette).flatMap(({ title, items }) =>
    items.map((item) => ({ title: titleOf(item), detail: `${title} · ${item.doc ?? ""}`, run: () => void add(item) })),
  );
  choose("Add after the selection", items);
}

const selectedNodes = () => desk().graph?.nodes.filter((node) => desk().selection.has(node.id)) ?? [];

function chooseOutput() {
  const [node] = selectedNodes();
  const ports = node ? [...node.inputs.filter((port) => port.direction === "inout"), ...node.outputs] : [];
  const connect = (port: string) => void chooseTarget(node, port).catch(report);
  if (ports.length === 1) connect(ports[0].name);
  else choose("Which output", ports.map((port) => ({ title: port.text ?? port.name, run: () => connect(port.name) })));
}

async function chooseTarget(node: ProgramNode, port: string) {
  const targets = await askTargets(node.id, port);
  choose("Connect it to", targets.map((target) => targetItem(node, port, target)));
}

function targetItem(node: ProgramNode, port: string, to: Target): ChooserItem {
  const { graph } = desk();
  const name = graph!.nodes.find((one) => one.id === to.id)?.label ?? graph!.frames.find((one) => one.id === to.id)?.label;
  const run = () => void edit([{ op: "connect", from: { id: node.id, port }, to: { id: to.id, port: to.port } }]);
  return { title: `${name} · ${to.port}`, detail: to.reason, disabled: !to.ok, run };
}

function chooseThread() {
  const calls = selectedNodes().filter((node) => node.call);
  if (!calls.length) return note("Only calls have a thread: select one.");
  const move = (thread: string | null) => void edit(calls.map(({ id }) => ({ op: "thread", node: id, thread })));
  choose("Move to a thread", [
    ...threadChoices(desk().graph!).map((thread) => ({ title: thread, run: () => move(thread) })),
    { title: "No label: the engine chooses", run: () => move(null) },
  ]);
}

const items = () => [...desk().selection];

const remove = () => items().length && edit([{ op: "delete", items: items() }]);

function paste() {
  const { copied, graph } = desk();
  if (!copied.length || !graph?.name) return;
  const { frame, after } = insertionAfter(desk());
  return edit([{ op: "copy", items: copied, frame, after }]);
}

function group() {
  if (!items().length) return;
  ask("Group into a segment", [{ name: "name", label: "Its name", value: "part", required: true }], ({ name }) =>
    edit([{ op: "group", items: items(), name }]),
  );
}

/** Put the statements of segments in the place of the calls of them that are selected. */
function ungroup() {
  const calls = selectedNodes().filter((node) => node.kind === "segment");
  if (!calls.length) return note("Select the call of a segment: its statements take its place.");
  return edit(calls.map(({ id }) => ({ op: "ungroup", node: id })));
}

function wrap() {
  if (!items().length) return;
  const heads = ["PARALLEL", "for k in 0 .. 10", "while residual > 0 max 1000", "if k > 0"];
  ask("Put into a block", [{ name: "head", label: "Its first line", value: "PARALLEL", choices: heads, required: true }], ({ head }) =>
    edit([{ op: "wrap", items: items(), head }]),
  );
}

/** Move the selected statement before or after its neighbour in the text. */
function moveBy(step: -1 | 1) {
  const { graph } = desk();
  const [id] = items();
  const statements = [
    ...(graph?.nodes.map((node) => ({ id: node.id, frame: node.frame, at: node.span.start })) ?? []),
    ...(graph?.frames.map((frame) => ({ id: frame.id, frame: frame.parent, at: frame.span.start })) ?? []),
  ].toSorted((one, other) => one.at - other.at);
  const own = statements.find((one) => one.id === id);
  const siblings = statements.filter((one) => one.frame === own?.frame && one.frame !== null);
  const to = siblings.indexOf(own!) + step;
  if (!own || to < 0 || to >= siblings.length) return;
  const after = step > 0 ? siblings[to].id : (siblings[to - 1]?.id ?? null);
  return edit([{ op: "move", items: [id], frame: own.frame, after }]);
}

const foldable = () => desk().graph?.frames.filter((frame) => frame.kind !== "program").map((frame) => frame.id) ?? [];

const foldSelection = () => fold(foldable().filter((id) => desk().selection.has(id)));

const foldAll = () => fold(foldable().filter((id) => !desk().folded.has(id)));

function findInGraph() {
  const { graph } = desk();
  if (!graph) return;
  const nodes = graph.nodes.map(({ id, label, text, line }) => ({ title: label, detail: `${line}: ${text}`, run: () => reveal(id) }));
  const frames = graph.frames.map(({ id, label }) => ({ title: label, run: () => reveal(id) }));
  choose("Find in the graph", [...nodes, ...frames]);
}

/** Select something, and unfold what it is in. */
async function reveal(id: string) {
  const { graph, folded } = desk();
  const frames = new Map(graph!.frames.map((frame) => [frame.id, frame.parent]));
  const around: string[] = [];
  const start = graph!.nodes.find((node) => node.id === id)?.frame ?? frames.get(id) ?? null;
  for (let at: string | null = start; at; at = frames.get(at) ?? null) around.push(at);
  await fold(around.filter((frame) => folded.has(frame)));
  (document.activeElement as HTMLElement | null)?.blur();
  select([id]);
}

export function setTheme(theme: Theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("pse-desk-theme", theme);
  update({ theme });
}
