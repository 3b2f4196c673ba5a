// Which rows are shown, and in which order: sorted, pinned, hidden, or one for all that are alike.

import { eachPiece, levelFor } from "./data/levels";
import type { Model } from "./data/model";

export const ORDERS = ["place", "busy", "waiting", "name"] as const;
export type Order = (typeof ORDERS)[number];

export interface RowChoice {
  order: Order;
  pinned: Set<number>;
  hidden: Set<number>;
  alike: boolean; // rows that are alike are one
}

export interface ShownRows {
  rows: number[]; // from top to bottom
  alike: Map<number, number[]>; // of a row that stands for others, those
}

// The rows to show; a window of time says what they did, `room` how many of those that are alike may stay.
export function rowsToShow(model: Model, choice: RowChoice, begin: number, end: number, room: number): ShownRows {
  const there = model.rows.map((_, row) => row).filter((row) => !choice.hidden.has(row)),
    sums = choice.order === "place" && !choice.alike ? [] : groupTimes(model, begin, end),
    alike = choice.alike ? clusters(there, sums, end - begin, room) : new Map<number, number[]>();
  const standing = choice.alike ? there.filter((row) => alike.has(row)) : there,
    key = (row: number) => (choice.order === "busy" ? busy(model, sums[row]) : waiting(model, sums[row]));
  if (choice.order === "busy" || choice.order === "waiting") standing.sort((a, b) => key(b) - key(a) || a - b);
  if (choice.order === "name")
    standing.sort((a, b) => model.rows[a].name.localeCompare(model.rows[b].name, "en", { numeric: true }) || a - b);
  const pinned = standing.filter((row) => choice.pinned.has(row));
  return { rows: [...pinned, ...standing.filter((row) => !choice.pinned.has(row))], alike };
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

export function busy(model: Model, times: Float64Array): number {
  return sumOf(model, times, model.stacked ? ["routine"] : ["call"]);
}

export function waiting(model: Model, times: Float64Array): number {
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
