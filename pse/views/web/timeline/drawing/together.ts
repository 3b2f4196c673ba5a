// Lanes of several ranks as one: of each pixel every colour has the height of its share of all their time.

import { eachPiece, firstAfter, type Level } from "../data/levels";
import type { Group, Model } from "../data/model";
import type { LanePlace } from "../view";
import type { LanePainter } from "./lanes";

export interface Columns {
  begin: number; // ns, of the first pixel
  perPixel: number; // ns
  width: number;
}

// Paints the lanes of a place; with a TPH, its blocks alone.
export function paintTogether(model: Model, level: Level, painter: LanePainter, place: LanePlace, columns: Columns, tph = 0): void {
  const groups = model.groups.length,
    amounts = new Float64Array(columns.width * groups),
    end = columns.begin + columns.width * columns.perPixel;
  for (const lane of place.together)
    for (let i = firstAfter(level, lane, columns.begin); i < level.from[lane + 1] && level.start[i] < end; i++)
      if (!tph || model.tph[i] === tph) spread(model, level, i, amounts, columns);
  painter.turnTo(place);
  for (let x = 0; x < columns.width; x++)
    painter.mean(x, amounts.subarray(x * groups, (x + 1) * groups), place.together.length);
}

// Adds the time of an entry to the pixels that it lies in.
function spread({ groupOf, groups }: Model, level: Level, i: number, amounts: Float64Array, columns: Columns): void {
  const { begin, perPixel, width } = columns,
    left = Math.max((level.start[i] - begin) / perPixel, 0),
    right = Math.min((level.end[i] - begin) / perPixel, width),
    whole = Math.max((level.end[i] - level.start[i]) / perPixel, 1e-9);
  for (let x = Math.floor(left); x < width && (x < right || x === Math.floor(left)); x++) {
    const share = right > left ? (Math.min(right, x + 1) - Math.max(left, x)) / whole : 1;
    for (let p = level.first[i]; p < level.first[i + 1]; p++)
      amounts[x * groups.length + groupOf[level.kind[p]]] += share * level.time[p];
  }
}

// What such lanes do between two moments: each group's share of their time, the greatest first.
export function sharesOf(model: Model, level: Level, place: LanePlace, begin: number, end: number): [Group, number][] {
  const sums = new Float64Array(model.groups.length);
  for (const lane of place.together)
    eachPiece(level, lane, begin, end, (piece, inside) => (sums[model.groupOf[level.kind[piece]]] += inside));
  return model.groups
    .map((group, number): [Group, number] => [group, sums[number] / ((end - begin) * place.together.length)])
    .filter(([, share]) => share > 0)
    .sort((a, b) => b[1] - a[1]);
}
