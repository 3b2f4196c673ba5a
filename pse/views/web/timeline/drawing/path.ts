// The critical path: over the rows, and what it is made of in the window.

import { byId, element } from "../../shared/elements";
import { duration, percent } from "../../shared/numbers";
import { lastBefore } from "../data/levels";
import type { Model } from "../data/model";
import type { Pen, Styles } from "./styles";
import { type View, xOf } from "../view";

export interface PathPart {
  name: string;
  time: number; // ns
  count: number;
}

// Calls back with the pieces that reach into a window.
function eachStep(model: Model, begin: number, end: number, take: (step: number) => void): void {
  const { begin: begins } = model.steps;
  for (let step = Math.max(0, lastBefore(begins, begin)); step < begins.length && begins[step] < end; step++)
    take(step);
}

// What the path is made of between two moments, the most time first.
export function pathParts(model: Model, begin: number, end: number): PathPart[] {
  const parts = model.path.map(({ name }) => ({ name, time: 0, count: 0 })),
    { begin: begins, length, part } = model.steps;
  eachStep(model, begin, end, (step) => {
    const inside = Math.min(end, begins[step] + length[step]) - Math.max(begin, begins[step]);
    if (inside < 0 || (inside === 0 && length[step] > 0)) return;
    parts[part[step]].time += inside;
    parts[part[step]].count++;
  });
  return parts.filter(({ count }) => count).sort((a, b) => b.time - a.time);
}

// How much of each stretch of a window the path is in each kind of part, ns: the kind with the most time first.
export function pathOver(model: Model, begin: number, end: number, stretches: number): [string, Float64Array][] {
  const { begin: begins, length, part } = model.steps,
    each = (end - begin) / stretches,
    found = new Map<string, Float64Array>();
  eachStep(model, begin, end, (step) => {
    const { kind } = model.path[part[step]],
      times = found.get(kind) ?? found.set(kind, new Float64Array(stretches)).get(kind)!,
      from = Math.max(begins[step], begin),
      to = Math.min(begins[step] + length[step], end);
    for (let x = Math.floor((from - begin) / each); x < stretches && begin + x * each < to; x++)
      times[x] += Math.max(0, Math.min(to, begin + (x + 1) * each) - Math.max(from, begin + x * each));
  });
  const sum = (times: Float64Array) => times.reduce((all, time) => all + time, 0);
  return [...found].sort(([, a], [, b]) => sum(b) - sum(a));
}

const MOST = 8; // lines

export function showPath(model: Model, view: View): void {
  const card = byId("path");
  card.hidden = !view.layers.path;
  if (card.hidden) return;
  const parts = pathParts(model, view.begin, view.end),
    whole = parts.reduce((sum, { time }) => sum + time, 0) || 1,
    [first] = parts;
  const head = element("header");
  head.append(element("h3", "Critical path in view"));
  const lines = parts.slice(0, MOST).map(({ name, time }) => {
    const line = element("div", undefined, { class: "key", title: name });
    line.append(
      element("span", name, { class: "name" }),
      element("span", duration(time), { class: "time" }),
      element("span", percent(time / whole), { class: "share" }),
    );
    return line;
  });
  const text = first ? `Without ${first.name} the run would be at most ${duration(first.time)} shorter here.` : "";
  card.replaceChildren(head, ...lines, element("p", text));
}

// A line along the rows that the path is on, and from row to row where a rank handed over.
export function drawPath(model: Model, view: View, pen: Pen, look: Styles): void {
  if (!view.layers.path) return;
  const { begin, length, row } = model.steps;
  pen.strokeStyle = look.failed;
  pen.lineWidth = 3;
  pen.beginPath();
  let drawn = -Infinity,
    before = -1;
  eachStep(model, view.begin, view.end, (step) => {
    const right = Math.min(xOf(view, begin[step] + length[step]), view.width + 4);
    if (right - drawn < 0.5 && row[step] === before) return;
    const left = Math.max(xOf(view, begin[step]), -4),
      place = row[step] ? view.places[row[step] - 1] : undefined;
    before = row[step];
    if (!place) return;
    const y = place.y + place.main - 1;
    if (drawn === -Infinity) pen.moveTo(left, y);
    pen.lineTo(left, y);
    pen.lineTo(right, y);
    drawn = right;
  });
  pen.stroke();
}
