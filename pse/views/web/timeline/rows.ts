// Which rows are shown, and in which order: sorted, pinned, hidden, one for several ranks or for all that are alike.

import { eachPiece, levelFor } from "./data/levels";
import type { Model } from "./data/model";

export const ORDERS = ["place", "busy", "waiting", "name"] as const;
export type Order = (typeof ORDERS)[number];

// What has a row: each rank, or all ranks of a processor or of a node together.
export const UNITS = ["rank", "processor", "node"] as const;
export type Unit = (typeof UNITS)[number];

export interface RowChoice {
  order: Order;
  by: Unit;
  sorted: [number, number]; // the window whose times order rows, and say which are alike
  pinned: Set<number>;
  hidden: Set<number>;
  alike: boolean; // rows that are alike are one
}

export interface ShownRows {
  rows: number[]; // from top to bottom
  together: Map<number, number[]>; // of a row that is drawn with others as one, all of them
  alike: Map<number, number[]>; // of a row that stands for others, those
}

// The rows to show; `room`: how many of those that are alike may stay.
export function rowsToShow(model: Model, choice: RowChoice, room: number): ShownRows {
  const [begin, end] = choice.sorted,
    together = togetherBy(model, choice.by),
    there = [...(together.size ? together.keys() : model.rows.keys())].filter((row) => !choice.hidden.has(row)),
    sums = choice.order === "place" && !choice.alike ? [] : means(groupTimes(model, begin, end), together),
    alike = choice.alike ? clusters(there, sums, end - begin, room) : new Map<number, number[]>();
  const standing = choice.alike ? there.filter((row) => alike.has(row)) : there,
    key = (row: number) => (choice.order === "busy" ? busy(model, sums[row]) : waiting(model, sums[row]));
  if (choice.order === "busy" || choice.order === "waiting") standing.sort((a, b) => key(b) - key(a) || a - b);
  if (choice.order === "name")
    standing.sort((a, b) => nameOf(model, choice, a).localeCompare(nameOf(model, choice, b), "en", { numeric: true }) || a - b);
  const pinned = standing.filter((row) => choice.pinned.has(row));
  return { rows: [...pinned, ...standing.filter((row) => !choice.pinned.has(row))], together, alike };
}

// Whether rows depend on what ranks did in a window.
export const byTime = ({ order, alike }: RowChoice) => alike || order === "busy" || order === "waiting";

export function nameOf({ rows }: Model, { by }: RowChoice, row: number): string {
  const { name, group, host } = rows[row];
  return by === "rank" ? name : (by === "node" ? host : group) || name;
}

// The rows of each processor or node, by the first of them; none where each rank has a row.
function togetherBy({ rows }: Model, by: Unit): Map<number, number[]> {
  const firsts = new Map<string, number>(),
    found = new Map<number, number[]>();
  if (by === "rank") return found;
  rows.forEach((row, number) => {
    const key = by === "node" ? row.host : `${row.host} ${row.group || row.rank}`;
    if (!firsts.has(key)) found.set(firsts.set(key, number).get(key)!, []);
    found.get(firsts.get(key)!)!.push(number);
  });
  return found;
}

// Of rows that are one: the mean of their times, at the first.
function means(sums: Float64Array[], together: Map<number, number[]>): Float64Array[] {
  for (const [first, members] of together) {
    const mean = sums[first].map((_, group) => members.reduce((sum, row) => sum + sums[row][group], 0) / members.length);
    sums[first] = mean;
  }
  return sums;
}

// Of each row the time in each group of the legend.
export function groupTimes(model: Model, begin: number, end: number): Float64Array[] {
  const level = levelFor(model.levels, (end - begin) / 2000),
    sums = model.rows.map(() => new Float64Array(model.groups.length));
  model.own.forEach((number) => {
    eachPiece(level, number, begin, end, (piece, inside) => {
      sums[model.lanes[number].row][model.groupOf[level.kind[piece]]] += inside;
    });
  });
  return sums;
}

const sumOf = (model: Model, times: Float64Array, categories: string[]) =>
  times.reduce((sum, time, group) => (categories.includes(model.groups[group].category) ? sum + time : sum), 0);

// Of routines alone those are the busiest that are the least in MPI.
function busy(model: Model, times: Float64Array): number {
  if (!model.stacked) return sumOf(model, times, ["call"]);
  return -times.reduce((sum, time, group) => (model.groups[group].name.startsWith("MPI_") ? sum + time : sum), 0);
}

function waiting(model: Model, times: Float64Array): number {
  return sumOf(model, times, ["wait", "state"]);
}

// Groups rows that spend their time alike: the first of each stands for all whose times in no group differ by
// more than a share of the window.  The share grows until there is room.
function clusters(rows: number[], times: Float64Array[], length: number, room: number): Map<number, number[]> {
  for (let far = 0.02; ; far *= 1.5) {
    const found = new Map<number, number[]>();
    for (const row of rows) {
      const near = [...found.keys()].find((other) => distance(times[row], times[other]) <= far * length);
      if (near === undefined) found.set(row, []);
      else found.get(near)!.push(row);
    }
    if (found.size <= room || far > 2) return found;
  }
}

function distance(a: Float64Array, b: Float64Array): number {
  let most = 0;
  for (let i = 0; i < a.length; i++) most = Math.max(most, Math.abs(a[i] - b[i]));
  return most;
}
