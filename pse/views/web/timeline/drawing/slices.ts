// Time slices of the coscheduled layer at the foot of the rows whose processes ran them, and what was matched.

import { duration, moment } from "../../shared/numbers";
import type { Model } from "../data/model";
import type { Fact } from "../panel";
import type { Pen, Styles } from "./styles";
import { type Place, pixels, type View, xOf } from "../view";

const HIGH = 4, // CSS pixels of a slice
  MATCHED = ["receive", "collective operation", "send"],
  COLOURS = ["#CC79A7", "#882255"]; // began as a rank blocked, or by the clock

const footOf = ({ y, main }: Place) => y + main - HIGH;

export function drawSlices(model: Model, view: View, pen: Pen, look: Styles): void {
  if (!view.layers.slices || view.together.size) return;
  const { slices, matches } = model;
  eachIn(slices.begin, slices.length, view, (i, left, right) => {
    const place = view.places[slices.row[i]];
    pen.fillStyle = COLOURS[slices.timed[i]];
    if (place.main > 2 * HIGH) pen.fillRect(left, footOf(place), Math.max(1, right - left), HIGH);
  });
  pen.fillStyle = look.ink;
  eachIn(matches.begin, matches.length, view, (i, left) => {
    const place = view.places[matches.row[i]];
    if (place.main > 2 * HIGH) pen.fillRect(left - 1, footOf(place) - 3, 2, 3);
  });
}

// Those that are seen: of several that begin at one pixel of a row, the first.
function eachIn(begin: Float64Array, length: Float64Array, view: View, take: (i: number, left: number, right: number) => void): void {
  for (let i = 0; i < begin.length && begin[i] < view.end; i++)
    if (begin[i] + length[i] >= view.begin) take(i, xOf(view, begin[i]), xOf(view, begin[i] + length[i]));
}

// The slice at a point, in words.
export function sliceFacts(model: Model, view: View, row: number, x: number, y: number): Fact[] | null {
  const { slices, matches } = model,
    place = view.places[row],
    near = 2 / pixels(view),
    time = view.begin + x / pixels(view);
  if (!view.layers.slices || view.together.size || y < footOf(place) || y > place.y + place.main) return null;
  const at = slices.begin.findIndex((begin, i) => slices.row[i] === row && begin <= time + near && begin + slices.length[i] >= time - near);
  if (at < 0) return null;
  const number = slices.number[at],
    matched = MATCHED.map((name, kind) => [name, matches.number.filter((one, i) => one === number && matches.kind[i] === kind).length] as const);
  return [
    ["slice", String(number)],
    ["began", slices.timed[at] ? "by the clock" : "since a rank blocked"],
    ["begin", moment(slices.begin[at], 1e3)],
    ["duration", duration(slices.length[at])],
    ["exchange", `${duration(slices.exchange[at])} until descriptors were exchanged`],
    ["scheduled", String(slices.operations[at])],
    ...matched.filter(([, count]) => count).map(([name, count]): Fact => [`matched ${name}s`, String(count)]),
  ];
}
