// What server and page say to each other.  Offsets are UTF-16 code units from the begin of the text.

import type { Frame as TagFrame } from "../../../views/web/shared/frame";

export interface Span {
  start: number;
  end: number;
}

export interface Session {
  directory: string;
  uri: string;
  program: string | null;
  version: string;
  processors: number;
  clusters: string[];
  languages: string[];
  colours: string[];
  options?: string[];
  reductions?: string[];
}

export interface Field {
  text: string | null;
  span: Span | null;
}

export interface Reduction {
  target: string;
  operation: string;
}

export interface ProgramPort {
  name: string;
  direction: "in" | "inout" | "out" | "comm";
  type: string | null;
  text: string | null;
  tag: string | null;
  tagType: string | null;
  tagDistribution: string | null;
  required?: boolean;
  default?: string | null;
  written?: string | null;
  reduce?: Reduction | null;
}

export interface ProgramFrame {
  id: string;
  kind: "program" | "segment" | "parallel" | "for" | "while" | "if" | "else";
  parent: string | null;
  label: string;
  span: Span;
  fields: Record<string, Field>;
  inputs: ProgramPort[];
  outputs: ProgramPort[];
  line: number;
  column: number;
}

export interface ProgramNode {
  id: string;
  kind: "call" | "segment" | "let" | "var" | "assign" | "break";
  label: string;
  module: string | null;
  language: string | null;
  source: { path: string; line: number; uri: string } | null;
  frame: string | null;
  thread: string | null;
  labelled: boolean;
  text: string;
  span: Span;
  line: number;
  column: number;
  doc: string | null;
  call: boolean;
  inputs: ProgramPort[];
  outputs: ProgramPort[];
  fields?: Record<string, Field>;
}

export interface End {
  id: string;
  port: string;
}

export interface ProgramEdge {
  from: End;
  to: End;
  tag: string;
  type: string | null;
  distribution: string | null;
  crosses: boolean;
  loop: string | null;
}

export interface Problem {
  severity: "error" | "warning";
  code: string;
  message: string;
  help: string | null;
  path: string;
  span: Span | null;
  line: number;
  column: number;
  node: string | null;
  related: { message: string; path: string; line: number; column: number }[];
}

export interface Parameter {
  name: string;
  type: string;
  default: string | null;
  where: string | null;
  span: Span;
}

export interface ProgramGraph {
  number: number; // counts what the server gave
  version: number;
  name: string | null;
  correct: boolean;
  parsed: boolean;
  frames: ProgramFrame[];
  nodes: ProgramNode[];
  edges: ProgramEdge[];
  parameters: Parameter[];
  partitions: { name: string; count: string; grid: string | null; span: Span }[];
  options: { name: string; thread: string | null; value: string; span: Span }[];
  imports: { path: string; alias: string | null; names: string[] | null; span: Span }[];
  segments: { name: string; frame: string }[];
  threads: string[];
  diagnostics: Problem[];
}

/** Which parts of a list are gone, by their numbers in the old one, and which come where in the new one. */
export interface ListDifference<One> {
  dropped: number[];
  put: [number, One][];
}

/** What was at an offset of the old text or behind it is so many characters and lines further back. */
export interface Moved {
  at: number;
  by: number;
  lines: number;
}

type Lists = "frames" | "nodes" | "edges" | "diagnostics";

/** What makes a graph of the one that was given before. */
export type Difference = Omit<ProgramGraph, Lists> & {
  since: number;
  moved: Moved;
} & { [List in Lists]: ListDifference<ProgramGraph[List][number]> };

export type ModuleName = { file: string; name: string } | { std: string } | { segment: string } | { type: string };

export interface PaletteModule {
  module: ModuleName;
  name: string;
  signature: string;
  doc: string | null;
  language: string | null;
  inputs: string[];
  outputs: string[];
}

export interface Palette {
  groups: { title: string; modules: PaletteModule[] }[];
  problems: { path: string; message: string }[];
}

export interface Operation {
  op: string;
  [field: string]: unknown;
}

export interface TextEdit extends Span {
  text: string;
}

export interface Refusal {
  message: string;
  help: string | null;
}

export type EditAnswer =
  | { edits: TextEdit[]; graph: ProgramGraph | Difference; version: number; selection: string[] }
  | { refused: Refusal };

export interface Target extends End {
  ok: boolean;
  reason?: string;
}

export interface ProgramFile {
  path: string;
  uri: string;
  text: string;
  revision: string;
  kind: string;
}

export interface BuildMessage {
  path: string;
  line: number;
  column: number;
  severity: "error" | "warning";
  message: string;
}

export interface Build {
  ok: boolean;
  cached: boolean;
  seconds: number;
  modules: string[];
  messages: BuildMessage[];
  output: string;
}

export interface FileEntry {
  path: string;
  kind: "program" | "module" | "other";
  language: string | null;
  size: number;
}

export type RunState = "preparing" | "running" | "stopping" | "done" | "failed" | "stopped";

export interface Run {
  id: string;
  program: string;
  state: RunState;
  processors: number;
  parameters: Record<string, string>;
  options: Record<string, string>;
  trace: boolean;
  checkpoint: boolean;
  cluster: string | null;
  started: string;
  seconds: number;
  revision: string;
  version: string;
  error: Refusal | null;
  wall: number | null;
}

/** A run that goes on, as those see it who control it. */
export interface ControlStatus {
  state: "running" | "held" | "stopping";
  place: string | null; // where it is held
  pauses: number; // passed so far
  live: Record<string, number | boolean>;
  tags: Record<string, string>; // that can be watched, and their types
  checkpoint: string | null;
}

/** A watched tag at one pause. */
export interface Frame extends TagFrame {
  run: string;
}

/** How far a loop is; the total is null until the run has computed it, and the most where it is a bound. */
export interface LoopProgress {
  name: string;
  done: number;
  total: number | null;
  bound: boolean;
  line: number;
}

export interface LiveSite {
  thread: string;
  name: string;
  line: number;
  column: number | null;
  calls: number;
  seconds: number;
  share: number;
  state: string;
}

export interface Overview {
  program: string;
  processors: number;
  ranks: number;
  seconds: number;
  loops: LoopProgress[];
  sites: LiveSite[];
  threads: { thread: string; ranks: number; busy: number; cpu: number; state: string }[];
  queues: { tag: string; thread: string; now: number; longest: number; limit: number }[];
  memory: { node: string; in_use: number; peak: number; capacity: number }[];
}

export interface SiteTimes {
  line: number;
  column: number;
  label: string;
  thread: string;
  calls: number;
  seconds: number;
  cpu: number | null;
  waiting: number | null;
}

export interface Sites {
  sites: SiteTimes[];
  critical: { line: number; column: number; seconds: number; share: number }[] | null;
}

export interface Advice {
  text: string;
  diff: string | null;
  program: string | null;
}

export interface Comparison {
  rows: { what: string; left: string; right: string; change: string }[];
  differences: { what: string; left: string; right: string }[];
}

export type ServerEvent =
  | { type: "run"; run: Run }
  | { type: "console"; run: string; stream: "stdout" | "stderr" | "note"; text: string; next: number }
  | { type: "overview"; run: string; overview: Overview }
  | ({ type: "frame" } & Frame)
  | { type: "file"; path: string; revision: string | null };
