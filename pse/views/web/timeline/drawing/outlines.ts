// Outlines around calls that failed or never ended, around hits of the search, around what is selected.

import type { Model } from "../data/model";
import { type Outlined, outlined } from "../data/outlined";
import type { Pen, Styles } from "./styles";
import { type LanePlace, type View, visibleRows, xOf } from "../view";

export function drawOutlines(model: Model, view: View, pen: Pen, look: Styles, scroll: number): void {
  const lanes = visibleLanes(view, scroll);
  const chosen = outlined(model, view.selected === null ? [] : [view.selected]);
  drawOutline(model, view, pen, lanes, view.unfinished, look.ink, 1.5, [4, 3]);
  drawOutline(model, view, pen, lanes, view.failed, look.failed, 2.5, []);
  drawOutline(model, view, pen, lanes, view.hits, look.accent, 1.5, []);
  drawOutline(model, view, pen, lanes, chosen, look.ink, 2, []);
}

export function visibleLanes(view: View, scroll: number): Map<number, LanePlace> {
  const lanes = new Map<number, LanePlace>();
  for (const row of visibleRows(view, scroll))
    for (const place of view.places[row].lanes)
      for (const lane of place.together.length ? place.together : [place.lane]) lanes.set(lane, place);
  return lanes;
}

function drawOutline(
  model: Model,
  view: View,
  pen: Pen,
  lanes: Map<number, LanePlace>,
  { entries, lanes: numbers, longest }: Outlined,
  colour: string,
  width: number,
  dashes: number[],
): void {
  const { start, end } = model.base,
    drawn = new Map<number, number>(); // Up to which pixel, lane by lane.
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = width;
  pen.setLineDash(dashes);
  for (
    let n = firstFrom(entries, start, view.begin - longest);
    n < entries.length && start[entries[n]] <= view.end;
    n++
  ) {
    const lane = lanes.get(numbers[n]),
      right = xOf(view, end[entries[n]]);
    if (!lane || right < 0 || right < (drawn.get(numbers[n]) ?? -9) + 1) continue;
    const left = Math.max(xOf(view, start[entries[n]]), -4),
      last = Math.min(Math.max(right, left + 2), view.width + 4);
    if (last - left < 4 && entries.length > 1)
      pen.fillRect(left, lane.y - 3, last - left, 3); // Many outlines would hide all.
    else pen.strokeRect(left - 0.5, lane.y - 0.5, last - left + 1, lane.height + 1);
    drawn.set(numbers[n], last);
  }
  pen.setLineDash([]);
}

// The first of entries by time that begins at a time or later.
function firstFrom(entries: number[], start: Float64Array, time: number): number {
  let low = 0,
    high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start[entries[middle]] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
