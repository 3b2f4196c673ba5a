// Call sites of the program in a window of time: their calls, the waits before them, and their load.

import { firstAfter } from "./levels";
import type { Model } from "./model";

export interface SiteTimes {
  calls: number; // that overlap the window
  time: number; // ns within it
  waits: number; // to execute it
  waiting: number; // ns within the window
}

// Of each node of the program's graph.
export function siteTimes(model: Model, begin: number, end: number): SiteTimes[] {
  const made = model.graph.nodes.map(() => ({ calls: 0, time: 0, waits: 0, waiting: 0 }));
  eachEntry(model, begin, end, (entry, inside) => {
    const { first, kind, time, count } = model.base;
    for (let piece = first[entry]; piece < first[entry + 1]; piece++) {
      const { category, node } = model.kinds[kind[piece]],
        one = made[node];
      if (!one) continue;
      if (category === "call") [one.calls, one.time] = [one.calls + count[piece], one.time + inside * time[piece]];
      else [one.waits, one.waiting] = [one.waits + count[piece], one.waiting + inside * time[piece]];
    }
  });
  return made;
}

// Calls back with each entry of the finest level that overlaps a window, and which share of it lies inside.
export function eachEntry(
  model: Model,
  begin: number,
  end: number,
  take: (entry: number, inside: number, lane: number) => void,
  run = 0,
): void {
  const { start, end: ends, from } = model.base;
  for (let lane = 0; lane < model.lanes.length; lane++) {
    if (model.lanes[lane].run !== run) continue;
    for (let i = firstAfter(model.base, lane, begin); i < from[lane + 1] && start[i] < end; i++) {
      const length = ends[i] - start[i];
      take(i, length > 0 ? (Math.min(end, ends[i]) - Math.max(begin, start[i])) / length : 1, lane);
    }
  }
}

export interface Load {
  name: string;
  colour: string;
  calls: number;
  time: number; // ns
  computing: number; // share of the time
  preempted: number;
  asleep: number;
}

// The load of call sites, a line for each thread, as `pse view --view load` has it: of calls that have an end
// and overlap the window.  Calls that the file holds merged are only counted.
export function loadsOf(model: Model, begin: number, end: number): { loads: Load[]; merged: number } {
  const sums = new Map<string, { colour: string; calls: number; time: number; cpu: number; lost: number }>();
  let merged = 0;
  eachEntry(model, begin, end, (entry, _, lane) => {
    const { base, state, cpu, preempted } = model,
      piece = base.first[entry],
      kind = model.kinds[base.kind[piece]],
      length = base.end[entry] - base.start[entry];
    if (kind.category !== "call" || state[entry] === 2 || length <= 0) return;
    if (base.first[entry + 1] - piece > 1 || base.count[piece] > 1) return void (merged += base.count[piece]);
    const name = `${kind.short} · ${model.rows[model.lanes[lane].row].thread}`,
      sum = sums.get(name) ?? { colour: kind.colour, calls: 0, time: 0, cpu: 0, lost: 0 };
    sums.set(name, sum);
    sum.calls++;
    sum.time += length;
    sum.cpu += cpu[entry];
    sum.lost += preempted[entry];
  });
  const loads = [...sums].map(([name, { colour, calls, time, cpu, lost }]) => {
    const computing = cpu / time,
      preempted = Math.min(lost / time, Math.max(0, 1 - computing));
    return { name, colour, calls, time, computing, preempted, asleep: Math.max(0, 1 - computing - preempted) };
  });
  return { loads: loads.sort((a, b) => b.time - a.time), merged };
}
