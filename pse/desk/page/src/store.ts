// What the page shows at the moment.

import type { EditorView } from "@codemirror/view";
import { create } from "zustand";
import type { Layout } from "./graph/boxes";
import type { Scene } from "./graph/scene";
import { ServerError, Unreachable } from "./http";
import type {
  Build,
  ControlStatus,
  FileEntry,
  Frame,
  Overview,
  Palette,
  PaletteModule,
  ProgramGraph,
  Refusal,
  Run,
  Session,
  Sites,
  Target,
} from "./protocol";

export type Colouring = "thread" | "time" | "cpu" | "waiting" | "critical";
export type Theme = "auto" | "light" | "dark";
export type DrawerTab = "run" | "runs" | "problems";

export interface OpenFile {
  path: string;
  uri: string;
  revision: string | null; // null: not on disk
  changed: boolean; // since it was saved
}

export interface ChooserItem {
  title: string;
  detail?: string;
  keys?: string;
  disabled?: boolean;
  run: () => void;
}

export interface AskedField {
  name: string;
  label: string;
  value?: string;
  choices?: string[];
  required?: boolean;
}

export interface StatementForm {
  statement: string;
  doc: string;
  fields: AskedField[];
  text(values: Record<string, string>): string;
}

export type PaletteItem = PaletteModule | StatementForm;

/** An open text whose file is another by now. */
export interface Conflicting {
  readonly view: EditorView;
  readonly file: OpenFile | null;
  save(over: string | null): Promise<boolean>;
  take(text: string, revision: string | null, message: string): void;
}

export type Dialog =
  | { kind: "choose"; title: string; items: ChooserItem[] }
  | { kind: "ask"; title: string; fields: AskedField[]; done: (values: Record<string, string>) => void }
  | { kind: "conflict"; of: Conflicting; theirs: string | null; revision: string | null };

export type Message = Refusal & { calm: boolean; unheard?: boolean };

export interface TextPlace {
  line: number;
  column: number;
}

/** The end of what a run has printed. */
export interface Console {
  parts: ConsolePart[];
  cut: boolean; // there is more before it
  next: number; // how many characters the run had printed
}

export interface ConsolePart {
  number: number;
  stream: "stdout" | "stderr" | "note";
  text: string;
}

export interface Desk {
  session: Session | null;
  connected: boolean;
  file: OpenFile | null;
  source: OpenFile | null; // of a module, beside the program
  build: Build | null; // of that source
  files: FileEntry[];
  graph: ProgramGraph | null;
  scene: Scene;
  layout: Layout;
  busy: number; // changes of the graph that are under way
  folded: ReadonlySet<string>;
  selection: ReadonlySet<string>;
  copied: string[];
  palette: Palette | null;
  dragged: PaletteItem | null;
  targets: Target[] | null; // of the connection that is being drawn
  runs: Run[];
  shownRun: string | null;
  consoles: Record<string, Console>;
  overviews: Record<string, Overview>;
  controls: Record<string, ControlStatus>; // by run
  watched: Record<string, string[]>; // tags by run
  frames: Record<string, Frame>; // by run and tag
  sites: Sites | null; // of the shown run, after it
  ranAt: Record<string, Map<string, TextPlace>>; // by run and statement: where it stood in the text that ran
  colouring: Colouring;
  theme: Theme;
  drawer: DrawerTab | null;
  message: Message | null;
  dialog: Dialog | null;
}

export const useDesk = create<Desk>(() => ({
  session: null,
  connected: false,
  file: null,
  source: null,
  build: null,
  files: [],
  graph: null,
  scene: { boxes: [], lines: [] },
  layout: { places: new Map(), routes: new Map() },
  busy: 0,
  folded: new Set(),
  selection: new Set(),
  copied: [],
  palette: null,
  dragged: null,
  targets: null,
  runs: [],
  shownRun: null,
  consoles: {},
  overviews: {},
  controls: {},
  watched: {},
  frames: {},
  sites: null,
  ranAt: {},
  colouring: "thread",
  theme: "auto",
  drawer: null,
  message: null,
  dialog: null,
}));

const LEGIBLE = 10_000; // ms

export const desk = useDesk.getState;
export const update = useDesk.setState;

export function say(message: string, help: string | null = null): Message {
  const said = { message, help, calm: false };
  update({ message: said });
  return said;
}

/** Say what the server did not hear: true until it is back. */
export function sayUnheard(message: string, help: string | null = null): Message {
  const said = { ...say(message, help), unheard: true };
  update({ message: said });
  return said;
}

/** Say what has happened; who has seen it, and goes on, need not close it. */
export function note(message: string) {
  const said = { message, help: null, calm: true };
  update({ message: said });
  const soon = () => setTimeout(() => desk().message === said && update({ message: null }), LEGIBLE);
  for (const input of ["pointerdown", "keydown"]) addEventListener(input, soon, { once: true });
}

/** Show what went wrong; a server that is gone is shown already. */
export function report(error: unknown): null {
  if (!desk().connected && !(error instanceof ServerError)) return null;
  const found = error instanceof ServerError ? (error.diagnostics[0] ?? error) : null;
  if (found) say(found.message, found.help);
  else if (error instanceof Unreachable) sayUnheard(error.message);
  else say(error instanceof Error || (error as any)?.message ? String((error as Error).message) : String(error));
  return null;
}

/** Give what does one thing after the other. */
export function oneByOne() {
  let last: Promise<unknown> = Promise.resolve();
  return <Result>(work: () => Promise<Result>): Promise<Result> => {
    const next = last.then(work);
    last = next.catch(() => null);
    return next;
  };
}

/** Mark the graph as busy until something is done. */
export async function busy<Result>(work: () => Promise<Result>): Promise<Result> {
  update({ busy: desk().busy + 1 });
  try {
    return await work();
  } finally {
    update({ busy: desk().busy - 1 });
  }
}
