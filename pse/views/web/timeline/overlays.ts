// What lies over the blocks: lines of hand-overs, the chain of a wait, marks.

import { duration } from "../shared/numbers";
import { flowsOf } from "./drawing/flows";
import { laneOf } from "./data/levels";
import type { Model } from "./data/model";
import { FONT, type Pen, type Styles } from "./drawing/styles";
import { type View, xOf } from "./view";

const MOST_LINES = 3000,
  SCATTER = 0x9e3779b1, // A product with it has bits that don't follow patterns of the program.
  MPI = 2; // the place of MPI's messages among the kinds

// Lines from the hand-over of a tag to its arrival: of the chosen TPH, or all of the window; of too many, some.
export function drawLines(model: Model, view: View, pen: Pen, look: Styles): void {
  view.lines = { drawn: 0, all: 0 };
  if (model.messages.step || (!view.tph && !view.layers.lines)) return;
  pen.strokeStyle = pen.fillStyle = view.tph ? look.ink : look.soft;
  pen.lineWidth = view.tph ? 1.4 : 0.8;
  pen.globalAlpha = view.tph ? 1 : 0.7;
  const all = linesIn(model, view),
    drawn = all.filter(chosenOf(all.length));
  view.lines = { drawn: drawn.length, all: all.length };
  for (const i of drawn) drawLine(model, view, pen, i);
  pen.globalAlpha = 1;
}

// Messages between two rows that are shown, with both ends known, that reach into the window.
function linesIn({ messages }: Model, view: View): number[] {
  const { sent, received, sender, receiver, tph, kind } = messages,
    others = kind.some((one) => one !== MPI), // Then messages of MPI carry what these are.
    found: number[] = [];
  for (let i = 0; i < sent.length; i++) {
    if (view.tph && tph[i] !== view.tph) continue;
    if (received[i] < view.begin || sent[i] > view.end || sent[i] === received[i] || (others && kind[i] === MPI)) continue;
    const [from, to] = [view.places[sender[i]], view.places[receiver[i]]];
    if (from !== to && from.height && to.height) found.push(i);
  }
  return found;
}

// Whether a line is drawn: of so many always the same ones, whatever part of the time is in view.
function chosenOf(all: number): (i: number) => boolean {
  let bits = 0;
  while (all >> bits > MOST_LINES) bits++;
  return (i) => !bits || Math.imul(i, SCATTER) >>> (32 - bits) === 0;
}

// What came to the selected call, and what it handed over.
export function drawFlows(model: Model, view: View, pen: Pen, look: Styles): void {
  if (view.selected === null) return;
  pen.strokeStyle = pen.fillStyle = look.accent;
  pen.lineWidth = 3;
  const row = model.lanes[laneOf(model.base, view.selected)].row;
  for (const { message } of flowsOf(model, view.selected, row)) drawLine(model, view, pen, message);
}

function drawLine(model: Model, view: View, pen: Pen, i: number): void {
  const { sent, received, sender, receiver } = model.messages,
    from = view.places[sender[i]],
    to = view.places[receiver[i]];
  if (from === to || !from.height || !to.height) return; // Rows that are drawn as one, or hidden.
  const x1 = xOf(view, received[i]),
    y1 = to.y + to.main / 2;
  pen.beginPath();
  pen.moveTo(xOf(view, sent[i]), from.y + from.main / 2);
  pen.lineTo(x1, y1);
  pen.stroke();
  pen.beginPath();
  pen.arc(x1, y1, 2, 0, 7);
  pen.fill();
}

export function drawMarks(model: Model, view: View, pen: Pen, look: Styles): void {
  if (!view.layers.marks) return;
  pen.fillStyle = look.ink;
  for (const { row, time } of model.marks) {
    const x = xOf(view, time),
      y = view.places[row].y;
    if (x < -5 || x > view.width + 5) continue;
    pen.beginPath();
    pen.moveTo(x - 4, y - 1);
    pen.lineTo(x + 4, y - 1);
    pen.lineTo(x, y + 7);
    pen.fill();
  }
}

// The chain of the selected wait: from what each late rank did to the wait that it ended.
export function drawChain(view: View, pen: Pen, look: Styles, scroll: number): void {
  if (!view.chain) return;
  pen.strokeStyle = pen.fillStyle = look.failed;
  pen.lineWidth = 1;
  pen.setLineDash([3, 3]);
  const x = xOf(view, view.chain.time);
  pen.strokeRect(x, scroll - 2, 0, view.height + 4);
  pen.setLineDash([]);
  pen.lineWidth = 2;
  for (const { row, end, ending } of view.chain.links) {
    if (row < 0 || !ending || ending.row < 0) continue;
    const [late, own] = [view.places[ending.row], view.places[row]];
    if (late.height && own.height)
      arrow(pen, xOf(view, ending.time), late.y + late.main / 2, xOf(view, end), own.y + own.main / 2);
  }
}

function arrow(pen: Pen, x0: number, y0: number, x1: number, y1: number): void {
  const angle = Math.atan2(y1 - y0, x1 - x0);
  const barb = (turn: number) => pen.lineTo(x1 - 9 * Math.cos(angle + turn), y1 - 9 * Math.sin(angle + turn));
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1 - 5 * Math.cos(angle), y1 - 5 * Math.sin(angle));
  pen.stroke();
  pen.beginPath();
  pen.arc(x0, y0, 3, 0, 7);
  pen.fill();
  pen.beginPath();
  pen.moveTo(x1, y1);
  barb(0.4);
  barb(-0.4);
  pen.fill();
}

// The range that is selected, and markers.
export function drawRange(view: View, pen: Pen, look: Styles, scroll: number): void {
  pen.fillStyle = pen.strokeStyle = look.accent;
  if (view.range) {
    const [left, right] = [view.range.begin, view.range.end].map((time) => xOf(view, time));
    pen.globalAlpha = 0.13;
    pen.fillRect(left, scroll, right - left, view.height);
    pen.globalAlpha = 1;
    for (const x of [left, right]) pen.fillRect(Math.round(x), scroll, 1, view.height);
  }
  for (const time of view.markers) pen.fillRect(Math.round(xOf(view, time)) - 1, scroll, 2, view.height);
}

// Markers on the time axis, with the time between them.
export function drawMarkers(view: View, pen: Pen, look: Styles): void {
  if (!view.markers.length) return;
  const places = view.markers.map((time) => xOf(view, time)).sort((a, b) => a - b);
  pen.fillStyle = look.accent;
  for (const x of places) {
    pen.beginPath();
    pen.moveTo(x - 5, 16);
    pen.lineTo(x + 5, 16);
    pen.lineTo(x, 28);
    pen.fill();
  }
  if (places.length < 2) return;
  const text = `Δ ${duration(Math.abs(view.markers[1] - view.markers[0]))}`;
  pen.font = `600 11px ${FONT}`;
  const width = pen.measureText(text).width,
    middle = (Math.max(places[0], 0) + Math.min(places[1], view.width)) / 2,
    left = Math.min(Math.max(middle - width / 2, 2), view.width - width - 2);
  pen.fillRect(places[0], 21, places[1] - places[0], 2);
  pen.fillStyle = look.paper;
  pen.fillRect(left - 4, 14, width + 8, 14);
  pen.fillStyle = look.accent;
  pen.fillText(text, left, 21);
}
