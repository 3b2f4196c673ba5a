// The trace in memory: what the page's head says, and arrays of what happened.

import { byId } from "../../shared/elements";
import type { ColumnHead, Decoded, Series, Task } from "./decode";
import DecodeWorker from "./decode.worker?worker&inline";
import type { Level } from "./levels";

export type Category = "call" | "wait" | "routine" | "state";

export interface Look {
  colour: string;
  ink: string;
  hatch: number;
}

export interface Kind extends Look {
  category: Category;
  group: string;
  label: string;
  short: string;
  module: string;
  place: string;
  reads: string;
  defines: string;
  tags: string;
  tag: string;
  source: string; // what defines the tag
  reason: string;
  call: string;
  node: number; // of `graph`, -1: none
}

export interface Group extends Look {
  id: string;
  category: Category;
  name: string;
}

export interface Row {
  rank: number;
  label: string;
  group: string;
  thread: string;
  name: string;
  host: string;
  where: string;
  lanes: number[];
  others: number[]; // lanes of the run that is compared
  series: RowSeries[];
}

export interface RowSeries extends Series {
  name: "memory" | "queues";
  row: number;
  count: number;
  note: string;
  peak: number;
}

export interface Mark {
  row: number;
  time: number;
  text: string;
}

export interface Lane {
  row: number;
  nested: boolean;
  layer: "" | "states"; // wait states of MPI
  run: number; // 1: of the run that is compared, 0: of the one that is shown
  count: number;
}

// The program: what calls there are, and which tags go from one to another.
export interface Graph {
  nodes: { label: string; place: string; thread: string; colour: string; ink: string }[];
  edges: { edges: number[]; tag: string; type: string; source: number; targets: number[] }[];
}

export interface MessageKinds {
  kinds: string[];
  ways: string[];
  step: number; // ns: messages are summed up in such stretches of time; 0: they are single
}

// What took longer in which of two runs, of all ranks together; times in ns.
export interface Difference {
  kind: "run" | Category;
  name: string;
  counts: [number, number];
  times: [number, number];
  interval: [number, number] | null; // of the gain
}

interface Runs {
  runs: string[]; // their names: one, or two
  differences: Difference[]; // of the whole runs
  unmatched: number; // ranks of the second run that have no row
  iterations: [number, number][]; // when each begins in both runs
}

interface Program {
  program: { name: string; lines: string[] };
  graph: Graph;
}

// What the page embeds: `pse/views/page/_data.py` writes it.
interface Head extends Program, Runs {
  title: string;
  facts: string[];
  notes: string[];
  begin: number;
  end: number;
  quantum: number;
  blocks: number;
  served: boolean; // a server makes pages of parts
  rows: Row[];
  lanes: Lane[];
  kinds: Kind[];
  groups: Group[];
  nested: string;
  lines: string;
  partitions: number;
  outside: [number, number][][];
  loops: string[];
  series: RowSeries[];
  marks: Mark[];
  messages: MessageKinds;
  engine: string[]; // what the engine does between calls that is known
  path: { name: string; kind: string }[]; // what the pieces of the critical path are
  tags: string[];
  suspects: [number, number][]; // ranks whose last wait never ended, and those that should have ended it
  final: [number, number, number, number, number][]; // ranks that waited for the last one: from, until, for whom, which ended when
  endings: string[]; // what ranks did that ended waits
  columns: ColumnHead[];
}

export interface Tph {
  number: string;
  text: string;
}

type Entries = Decoded["entries"];

export interface Model extends Omit<Head, "messages">, Entries {
  base: Level;
  levels: Level[];
  own: number[]; // lanes of the run that is shown
  messages: Decoded["messages"] & MessageKinds;
  steps: Decoded["path"];
  engineTimes: Decoded["engineTimes"];
  slices: Decoded["slices"];
  matches: Decoded["matches"];
  tphs: Tphs;
  groupOf: Uint16Array; // of each kind the number of its group
  stacked: boolean; // routines alone, without module calls
}

// Whether what ends a wait came while its rank slept: it isn't awake yet for the last of the time.
export function wakesLate({ late, until, woken }: Model, wait: number): boolean {
  return Boolean(late[wait]) && !until[wait] && woken[wait] > 0;
}

export async function readModel(): Promise<Model> {
  const head: Head = JSON.parse(byId("head").textContent!);
  const { levels, entries, messages, tphs, series, path, slices, matches, engineTimes } = await decode(head, byId("data").textContent!);
  for (const row of head.rows) [row.lanes, row.others, row.series] = [[], [], []];
  head.lanes.forEach(({ row, run }, number) => (run ? head.rows[row].others : head.rows[row].lanes).push(number));
  head.series.forEach((one, number) => {
    Object.assign(one, series[number], { peak: series[number].value.reduce((a, b) => Math.max(a, b), 0) });
    head.rows[one.row].series.push(one);
  });
  const groups = new Map(head.groups.map((group, number) => [group.id, number]));
  return Object.assign(head, entries, {
    base: levels[0],
    levels,
    own: head.rows.flatMap(({ lanes }) => lanes),
    messages: { ...messages, ...head.messages },
    steps: path,
    engineTimes,
    slices,
    matches,
    tphs: new Tphs(tphs, head.loops),
    groupOf: Uint16Array.from(head.kinds, (kind) => groups.get(kind.group)!),
    stacked: isStacked(head.kinds),
  });
}

function isStacked(kinds: Kind[]): boolean {
  const blocks = kinds.filter(({ category }) => category !== "state");
  return blocks.length > 0 && blocks.every((kind) => kind.category === "routine");
}

function decode(head: Head, text: string): Promise<Decoded> {
  const { columns, lanes, series, kinds, begin, end, quantum, messages } = head;
  const task: Task = { text, columns, lanes, series, kinds: kinds.length, begin, end, quantum, messages };
  const worker = new DecodeWorker();
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<{ made: Decoded; error?: string }>) => {
      worker.terminate();
      if (data.error) reject(data.error);
      else resolve(data.made);
    };
    worker.onerror = (event) => reject(event.message);
    worker.postMessage(task);
  });
}

// Named when asked for: there may be as many as blocks.
export class Tphs {
  constructor(
    private columns: Decoded["tphs"],
    private loops: string[],
  ) {}

  get length(): number {
    return this.columns.low.length;
  }

  // By its place from 1.  Numbers are beyond what a double holds exactly, so they are text.
  at(place: number): Tph {
    const { high, low } = this.columns;
    const number = String((BigInt(high[place - 1]) << 32n) + BigInt(low[place - 1]));
    return { number, text: this.named(place - 1) || (number === "1" ? "the program" : "") };
  }

  // As the program counts: from the outermost loop in.
  private named(i: number): string {
    const { loop, parent, counter } = this.columns;
    const name = loop[i] && loop[i] <= this.loops.length ? this.loops[loop[i] - 1] || "round" : "";
    const around = parent[i] && parent[i] - 1 < i ? this.named(parent[i] - 1) : "";
    return [around, name && `${name} = ${counter[i]}`].filter(Boolean).join(", ");
  }
}
