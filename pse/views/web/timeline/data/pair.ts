// Two runs: the second one's blocks beside the first one's, and what took longer in which.

import { levelsOf } from "./levels";
import type { Difference, Model } from "./model";
import { eachEntry } from "./sites";

export type Alignment = "time" | "iteration";

let original: { start: Float64Array; end: Float64Array } | undefined;

// Moves the blocks of the second run: to their own times, or so that iterations of both begin together; between,
// time is stretched.
export function align(model: Model, by: Alignment): void {
  const { base, lanes, begin, end, quantum, kinds } = model;
  original ??= { start: base.start.slice(), end: base.end.slice() };
  const place = by === "time" ? (time: number) => time : placeIn(model.iterations);
  lanes.forEach(({ run }, lane) => {
    if (!run) return;
    for (let i = base.from[lane]; i < base.from[lane + 1]; i++)
      [base.start[i], base.end[i]] = [place(original!.start[i]), place(original!.end[i])];
  });
  model.levels.splice(0, model.levels.length, ...levelsOf(base, begin, end, quantum, kinds.length));
}

// From the time of the second run to that of the first, by the begins of iterations in both.
export function placeIn(iterations: [number, number][]): (time: number) => number {
  const last = iterations.length - 1;
  return (time) => {
    if (last < 0) return time;
    let low = 0,
      high = last;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (iterations[middle][1] <= time) low = middle;
      else high = middle - 1;
    }
    const [first, second] = iterations[low];
    if (time < second || low === last) return first + (time - second);
    const [nextFirst, nextSecond] = iterations[low + 1];
    return first + ((time - second) * (nextFirst - first)) / (nextSecond - second);
  };
}

// Call sites have names that are the same in both runs, as `pse.analysis` gives them.
function siteNames({ graph }: Model): string[] {
  const seen = new Map<string, number>();
  return graph.nodes.map(({ label }) => {
    const count = (seen.get(label) ?? 0) + 1;
    seen.set(label, count);
    return count === 1 ? label : `${label} (${count})`;
  });
}

// Calls and waits of both runs in a window, the greatest gain first.
export function differencesOf(model: Model, begin: number, end: number): Difference[] {
  const found = new Map<string, Difference>(),
    names = siteNames(model);
  for (const run of [0, 1])
    eachEntry(
      model,
      begin,
      end,
      (entry, inside, lane) => {
        const { first, kind, time, count } = model.base;
        if (model.lanes[lane].nested) return;
        for (let piece = first[entry]; piece < first[entry + 1]; piece++) {
          const { category, group, label, node } = model.kinds[kind[piece]];
          const name = category === "wait" ? group.slice("wait:".length) : (names[node] ?? label),
            one = found.get(`${category}:${name}`) ?? { kind: category, name, counts: [0, 0], times: [0, 0], interval: null };
          found.set(`${category}:${name}`, one);
          one.counts[run] += count[piece];
          one.times[run] += inside * time[piece];
        }
      },
      run,
    );
  const whole = begin <= model.begin && end >= model.end,
    made = [...found.values()];
  if (whole) for (const one of made) one.interval = intervalOf(model, one);
  return made.sort((a, b) => b.times[0] - b.times[1] - (a.times[0] - a.times[1]));
}

function intervalOf({ differences }: Model, { kind, name }: Difference): [number, number] | null {
  return differences.find((one) => one.kind === kind && one.name === name)?.interval ?? null;
}
