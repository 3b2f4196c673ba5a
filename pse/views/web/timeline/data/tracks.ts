// What all ranks that are shown do, hold and send, over time.

import { caller } from "./callers";
import { eachEntry } from "./sites";
import type { Model } from "./model";

export const BANDS = ["computing", "preempted", "asleep", "waiting"] as const;
export type Band = (typeof BANDS)[number];

// For each band and each of equal parts of a window: how many ranks, on average.  Calls are taken to compute as
// much in each of their parts; of routines of MPI alone, the time in MPI is waiting, and the rest computing.
export function bandsOf(model: Model, begin: number, end: number, parts: number): Record<Band, Float64Array> {
  const made = Object.fromEntries(BANDS.map((band) => [band, new Float64Array(parts)])) as Record<Band, Float64Array>,
    cell = (end - begin) / parts;
  eachEntry(model, begin, end, (entry, _, lane) => {
    const { base } = model,
      { nested, layer } = model.lanes[lane],
      length = base.end[entry] - base.start[entry];
    if (layer || length <= 0 || (nested && !model.stacked)) return;
    const times = timesOf(model, entry),
      from = (Math.max(base.start[entry], begin) - begin) / cell,
      to = (Math.min(base.end[entry], end) - begin) / cell;
    for (const band of BANDS) if (times[band]) spread(made[band], from, to, times[band] / length);
  });
  if (model.stacked) made.computing = made.waiting.map((waiting) => Math.max(0, model.rows.length - waiting));
  return made;
}

function timesOf({ base, kinds, cpu, preempted }: Model, entry: number): Record<Band, number> {
  let called = 0,
    waiting = 0;
  for (let piece = base.first[entry]; piece < base.first[entry + 1]; piece++) {
    const kind = kinds[base.kind[piece]];
    if (kind.category === "call") called += base.time[piece];
    if (kind.category === "wait" || (kind.category === "routine" && kind.label.startsWith("MPI_")))
      waiting += base.time[piece];
  }
  const computing = Math.min(cpu[entry], called),
    lost = Math.min(preempted[entry], called - computing);
  return { computing, preempted: lost, asleep: called - computing - lost, waiting };
}

// Adds a height to all parts between two places, which may lie within parts.
function spread(parts: Float64Array, from: number, to: number, height: number): void {
  for (let x = Math.floor(from); x < Math.min(to, parts.length); x++)
    parts[x] += height * (Math.min(to, x + 1) - Math.max(from, x));
}

export interface Counter {
  time: Float64Array;
  value: Float64Array;
  most: number;
}

const kept = new Map<string, Counter>();

// Memory, or entries in queues, of all rows together, sample by sample.
export function counterOf(model: Model, name: "memory" | "queues"): Counter {
  const found = kept.get(name) ?? summed(model, name);
  kept.set(name, found);
  return found;
}

function summed(model: Model, name: string): Counter {
  const changes = model.series
    .filter((series) => series.name === name)
    .flatMap(({ time, value }) => Array.from(time, (at, i) => [at, value[i] - (i ? value[i - 1] : 0)]))
    .sort((a, b) => a[0] - b[0]);
  let held = 0;
  const value = Float64Array.from(changes, ([, change]) => (held += change));
  return { time: Float64Array.from(changes, ([at]) => at), value, most: value.reduce((a, b) => Math.max(a, b), 0) };
}

// For each part of a window the most of a counter in it.
export function counted({ time, value }: Counter, begin: number, end: number, parts: number): Float64Array {
  const made = new Float64Array(parts),
    cell = (end - begin) / parts;
  let i = 0,
    now = 0;
  for (; i < time.length && time[i] <= begin; i++) now = value[i];
  for (let x = 0; x < parts; x++) {
    made[x] = now;
    for (; i < time.length && time[i] < begin + (x + 1) * cell; i++) made[x] = Math.max(made[x], (now = value[i]));
  }
  return made;
}

// Bytes that were sent in each part of a window.
export function sentOf(model: Model, begin: number, end: number, parts: number): Float64Array {
  const { sent, bytes } = model.messages,
    made = new Float64Array(parts),
    cell = (end - begin) / parts;
  for (let i = 0; i < sent.length; i++) {
    const x = Math.floor((sent[i] - begin) / cell);
    if (x >= 0 && x < parts) made[x] += bytes[i];
  }
  return made;
}

// The time of each row in each part of the engine that is known.
export function engineShares({ rows, engine, engineTimes }: Model, begin: number, end: number): Float64Array[] {
  const made = rows.map(() => new Float64Array(engine.length)),
    { begin: begins, length, time, row, part } = engineTimes;
  for (let i = 0; i < begins.length; i++) {
    const inside = Math.min(end, begins[i] + length[i]) - Math.max(begin, begins[i]);
    if (inside > 0) made[row[i]][part[i]] += (time[i] * inside) / length[i];
  }
  return made;
}

// The time of each row in each group of the legend, of routines alone without what they call, what lies between blocks, and outside of the program.
export function rowShares(model: Model, begin: number, end: number): { groups: Float64Array[]; engine: Float64Array[]; outside: number[] } {
  const groups = model.rows.map(() => new Float64Array(model.groups.length));
  const numbers = new Map(model.groups.map(({ id }, number) => [id, number]));
  eachEntry(model, begin, end, (entry, inside, lane) => {
    const { base, groupOf } = model,
      { row, nested, layer } = model.lanes[lane];
    if (layer || (nested && !model.stacked)) return;
    for (let piece = base.first[entry]; piece < base.first[entry + 1]; piece++) {
      const time = inside * base.time[piece];
      groups[row][groupOf[base.kind[piece]]] += time;
      if (nested) caller(model, base, lane, entry, (outer, share) => (groups[row][numbers.get(outer.group)!] -= share * time));
    }
  });
  const outside = model.outside.map((spans) =>
    spans.reduce((sum, [from, to]) => sum + Math.max(0, Math.min(to, end) - Math.max(from, begin)), 0),
  );
  return { groups, engine: engineShares(model, begin, end), outside };
}
