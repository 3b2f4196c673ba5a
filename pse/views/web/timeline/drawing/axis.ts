// The time axis, and the overview of the whole trace above it.

import { byId } from "../../shared/elements";
import { decimal, moment, threeDigits, unitFor } from "../../shared/numbers";
import { caller } from "../data/callers";
import { levelFor } from "../data/levels";
import type { Kind, Model } from "../data/model";
import { drawMarkers } from "../overlays";
import { FONT, type Pen, prepared, type Styles, styles } from "./styles";
import { pixels, shown, type View, xOf } from "../view";

// Ticks at 1, 2 or 5 of a power of ten, 90 pixels apart or more.
export function ticksOf(view: View): { step: number; at: number[] } {
  const least = 90 / pixels(view),
    power = 10 ** Math.floor(Math.log10(least));
  const step = Math.max(1, [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least)!);
  const at: number[] = [];
  for (let n = Math.ceil(view.begin / step); n * step <= view.end; n++) at.push(n * step);
  return { step, at };
}

const RULER = 28; // CSS pixels

// Far from the origin and at fine steps, ticks are counted from a round time before the window.
export function drawRuler(view: View, pen: Pen = prepared(byId<HTMLCanvasElement>("ruler"), view.width, RULER)): void {
  const look = styles(),
    { step, at } = ticksOf(view);
  const far = view.begin > 1e4 * step;
  const origin = far ? Math.floor(view.begin / (100 * step)) * 100 * step : 0;
  const [unit, factor] = unitFor(far ? Math.max(step * 10, 1) : Math.max(view.end, 10 * step));
  const digits = Math.max(0, Math.ceil(Math.log10(factor / step) - 1e-9));
  pen.font = `11px ${FONT}`;
  pen.textBaseline = "middle";
  let free = 0;
  if (far) {
    const text = `${moment(origin, step)} `;
    pen.fillStyle = look.ink;
    pen.fillText(text, 4, 13);
    free = pen.measureText(text).width + 8;
  }
  for (const tick of at) {
    const x = Math.round(xOf(view, tick));
    pen.fillStyle = look.line;
    pen.fillRect(x, 20, 1, 8);
    const text = `${far ? "+" : ""}${decimal((tick - origin) / factor, digits)} ${unit}`;
    const width = pen.measureText(text).width,
      left = Math.max(2, x - width / 2);
    if (left < free || left + width > view.width) continue;
    pen.fillStyle = look.soft;
    pen.fillText(text, left, 13);
    free = left + width + 6;
  }
  drawMarkers(view, pen, look);
}

// How many ranks are in each module, pixel by pixel, over the whole trace.
function overviewShares(model: Model, view: View, width: number): Map<string, Float64Array> {
  const shares = new Map<string, Float64Array>();
  const cell = (model.end - model.begin) / width,
    level = levelFor(model.levels, cell);
  const add = (kind: Kind, from: number, to: number, amount: number) => {
    if (kind.category === "wait" || !shown(view, kind)) return;
    if (!shares.has(kind.group)) shares.set(kind.group, new Float64Array(width + 1));
    spread(shares.get(kind.group)!, from, to, amount);
  };
  model.own.forEach((number) => {
    const lane = model.lanes[number];
    if (lane.layer || (lane.nested && !model.stacked)) return;
    for (let i = level.from[number]; i < level.from[number + 1]; i++) {
      const from = (level.start[i] - model.begin) / cell,
        to = (level.end[i] - model.begin) / cell;
      for (let p = level.first[i]; p < level.first[i + 1]; p++) {
        const kind = model.kinds[level.kind[p]],
          amount = level.time[p] / cell;
        add(kind, from, to, amount);
        if (lane.nested && shown(view, kind))
          caller(model, level, number, i, (outer, share) => add(outer, from, to, -share * amount));
      }
    }
  });
  return shares;
}

function spread(cells: Float64Array, from: number, to: number, amount: number): void {
  const first = Math.min(Math.floor(from), cells.length - 1),
    last = Math.min(Math.floor(to), cells.length - 1);
  if (first === last) cells[first] += amount;
  else
    for (let x = first; x <= last; x++)
      cells[x] += (amount * (Math.min(to, x + 1) - Math.max(from, x))) / (to - from);
}

const HEIGHT = 46;
// The overview without its window, kept until what is shown changes.
let kept: { canvas: HTMLCanvasElement; title: string; key: string } | undefined;

export function forgetOverview(): void {
  kept = undefined;
}

export function drawOverview(model: Model, view: View): void {
  const canvas = byId<HTMLCanvasElement>("overview"),
    pen = prepared(canvas, view.width, HEIGHT),
    look = styles(),
    key = `${view.width} ${devicePixelRatio} ${look.paper}`;
  if (kept?.key !== key) kept = { ...wholeOverview(model, view), key };
  canvas.title = kept.title;
  pen.drawImage(kept.canvas, 0, 0, view.width, HEIGHT);
  drawWindow(model, view, pen, look);
}

// The overview with its window, drawn with another pen.
export function drawOverviewWith(pen: Pen, model: Model, view: View): void {
  drawShares(model, view, pen);
  drawWindow(model, view, pen, styles());
}

// What is in view of all.
function drawWindow(model: Model, view: View, pen: Pen, look: Styles): void {
  const left = placeIn(model, view, view.begin),
    right = Math.max(placeIn(model, view, view.end), left + 2);
  pen.fillStyle = look.paper;
  pen.globalAlpha = 0.65;
  pen.fillRect(0, 0, left, HEIGHT);
  pen.fillRect(right, 0, view.width - right, HEIGHT);
  pen.globalAlpha = 1;
  pen.strokeStyle = look.accent;
  pen.lineWidth = 1.5;
  pen.strokeRect(left + 0.75, 1.5, right - left - 1.5, HEIGHT - 3);
}

function wholeOverview(model: Model, view: View): { canvas: HTMLCanvasElement; title: string } {
  const canvas = document.createElement("canvas");
  return { canvas, title: drawShares(model, view, prepared(canvas, view.width, HEIGHT)) };
}

// Shares of modules, how many ranks wait, hits; gives what that is in words.
function drawShares(model: Model, view: View, pen: Pen): string {
  const width = Math.max(1, Math.floor(view.width)),
    base = new Float64Array(width + 1).fill(HEIGHT - 4),
    shares = overviewShares(model, view, width);
  const sums = new Float64Array(width + 1);
  for (const cells of shares.values()) cells.forEach((share, x) => (sums[x] += Math.max(0, share)));
  const most = Math.max(1e-9, Math.min(model.rows.length, sums.reduce((a, b) => Math.max(a, b), 0)));
  for (const group of model.groups) {
    pen.fillStyle = group.colour;
    shares.get(group.id)?.forEach((share, x) => {
      const part = (share / most) * (HEIGHT - 9);
      if (part > 0) pen.fillRect(x, (base[x] -= part), 1, part);
    });
  }
  drawHeat(model, view, pen, width);
  pen.fillStyle = styles().accent;
  const hits = new Set(view.found.map((entry) => Math.round(placeIn(model, view, model.base.start[entry]))));
  for (const x of hits) pen.fillRect(x, 0, 1, 6);
  const what = model.stacked ? "routines" : "modules";
  return `Ranks in ${what}, up to ${threeDigits(most)} of ${model.rows.length}, and below, in red, how many wait: drag to move`;
}

// How many ranks wait, over the whole trace, as the strength of a strip: for each other, inside of MPI and outside.
function drawHeat(model: Model, view: View, pen: Pen, width: number): void {
  const cells = new Float64Array(width + 1),
    cell = (model.end - model.begin) / width,
    level = levelFor(model.levels, cell);
  let before = -1; // Of overlapping wait states of a row the first lane counts.
  model.own.forEach((number) => {
    const lane = model.lanes[number];
    if (lane.layer && before === lane.row) return;
    if (lane.layer) before = lane.row;
    for (let i = level.from[number]; i < level.from[number + 1]; i++) {
      const [from, to] = [level.start[i], level.end[i]].map((time) => (time - model.begin) / cell);
      for (let p = level.first[i]; p < level.first[i + 1]; p++) {
        const kind = model.kinds[level.kind[p]];
        if ((kind.category === "wait" || kind.category === "state") && shown(view, kind))
          spread(cells, from, to, level.time[p] / cell);
      }
    }
  });
  pen.fillStyle = styles().failed;
  cells.forEach((share, x) => {
    pen.globalAlpha = Math.min(1, share / model.rows.length);
    pen.fillRect(x, HEIGHT - 3, 1, 3);
  });
  pen.globalAlpha = 1;
}

function placeIn(model: Model, view: View, time: number): number {
  return ((time - model.begin) / (model.end - model.begin)) * view.width;
}
