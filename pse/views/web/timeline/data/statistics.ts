// Statistics of a range of time: how often, how long, on which ranks.

import { firstAfter } from "./levels";
import type { Group, Model } from "./model";

export interface Statistics {
  group: Group;
  count: number; // blocks that begin in the range
  time: number; // ns within the range; a function that calls itself has each moment once
  mean: number; // ns: of the durations of blocks that begin in the range
  median: number;
  p95: number;
  most: number;
  merged: number; // of the count: blocks that the file holds merged, of which only the mean is known
  imbalance: number; // the rank with the most time, by the mean of all ranks
  busiest: number; // its row
  durations: Float64Array; // ascending, without merged ones
}

// Of each group of the legend that is in the range, the most time first.
export function statisticsOf(model: Model, begin: number, end: number): Statistics[] {
  const made = model.groups.map(() => new Gathered(model.rows.length));
  model.own.forEach((number) => gather(model, number, model.lanes[number].row, begin, end, made));
  return model.groups
    .map((group, number) => made[number].statistics(group))
    .filter(({ time, count }) => time > 0 || count > 0)
    .sort((a, b) => b.time - a.time);
}

function gather(
  model: Model,
  lane: number,
  row: number,
  begin: number,
  end: number,
  made: Gathered[],
): void {
  const { start, end: ends, first, from, kind, time, once, count } = model.base;
  for (let i = firstAfter(model.base, lane, begin); i < from[lane + 1] && start[i] < end; i++) {
    const length = ends[i] - start[i],
      inside = length > 0 ? (Math.min(end, ends[i]) - Math.max(begin, start[i])) / length : 1;
    for (let p = first[i]; p < first[i + 1]; p++)
      made[model.groupOf[kind[p]]].add(row, inside * once[p], start[i] >= begin ? count[p] : 0, time[p]);
  }
}

class Gathered {
  private durations: number[] = [];
  private byRow: Float64Array;
  private count = 0;
  private merged = 0;
  private whole = 0;

  constructor(rows: number) {
    this.byRow = new Float64Array(rows);
  }

  add(row: number, inside: number, count: number, time: number): void {
    this.byRow[row] += inside;
    this.count += count;
    if (count) this.whole += time;
    if (count === 1) this.durations.push(time);
    else this.merged += count;
  }

  statistics(group: Group): Statistics {
    const durations = Float64Array.from(this.durations).sort(),
      time = this.byRow.reduce((a, b) => a + b, 0),
      most = this.byRow.reduce((a, b) => Math.max(a, b), 0);
    return {
      group,
      count: this.count,
      time,
      mean: this.count ? this.whole / this.count : 0,
      median: quantile(durations, 0.5),
      p95: quantile(durations, 0.95),
      most: durations.length ? durations[durations.length - 1] : 0,
      merged: this.merged,
      imbalance: time ? (most * this.byRow.length) / time : 1,
      busiest: this.byRow.indexOf(most),
      durations,
    };
  }
}

// Between the two nearest values, in proportion.
export function quantile(ascending: Float64Array, share: number): number {
  if (!ascending.length) return 0;
  const at = share * (ascending.length - 1),
    low = Math.floor(at),
    high = Math.min(low + 1, ascending.length - 1);
  return ascending[low] + (at - low) * (ascending[high] - ascending[low]);
}

export interface Bin {
  from: number; // ns
  to: number;
  count: number;
}

// How many durations lie in each of about so many bins, which are equally wide on a logarithmic scale.
export function histogram(ascending: Float64Array, bins: number): Bin[] {
  if (!ascending.length) return [];
  const low = Math.log10(Math.max(1, ascending[0])),
    high = Math.log10(Math.max(1, ascending[ascending.length - 1])),
    width = Math.max((high - low) / bins, 1e-9);
  const made = Array.from({ length: high > low ? bins : 1 }, (_, n) => ({
    from: 10 ** (low + n * width),
    to: 10 ** (low + (n + 1) * width),
    count: 0,
  }));
  for (const value of ascending) {
    const bin = Math.floor((Math.log10(Math.max(1, value)) - low) / width);
    made[Math.min(bin, made.length - 1)].count++;
  }
  return made;
}
