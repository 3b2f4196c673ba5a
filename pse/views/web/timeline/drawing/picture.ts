// The picture: rows and their blocks as pixels, then what lies over them.

import { byId } from "../../shared/elements";
import { ticksOf } from "./axis";
import { type Label, LanePainter, type Palette, paletteOf } from "./lanes";
import { firstAfter, lastBefore } from "../data/levels";
import type { Model } from "../data/model";
import { drawOutlines } from "./outlines";
import { drawChain, drawFlows, drawLines, drawMarks, drawRange } from "../overlays";
import { drawPath } from "./path";
import { NOTHING, packed, Raster, type Surface } from "./raster";
import { ShapePen, Shapes } from "./shapes";
import { drawSlices } from "./slices";
import { FONT, type Pen, prepared, ratio, type Styles, styles } from "./styles";
import { DIAGONAL } from "./textures";
import { type Columns, paintTogether } from "./together";
import { drawnLevel, type Place, type SeriesPlace, type View, visibleRows, xOf } from "../view";

let raster: Raster | undefined;

export function drawBlocks(model: Model, view: View, scroll: number): void {
  const pen = prepared(byId<HTMLCanvasElement>("blocks"), view.width, view.height),
    scale = ratio(),
    look = styles();
  const width = Math.round(view.width * scale),
    height = Math.round(view.height * scale);
  if (raster?.width !== width || raster.height !== height)
    raster = new Raster(width, height, scale >= 1.5 ? 1 : 0);
  raster.clear(packed(look.paper));
  const labels = paint(model, view, look, raster, scroll, scale);
  raster.show(pen);
  drawOver(model, view, pen, look, labels, scroll);
}

const FINE = 2; // pixels of what is drawn as shapes, in a CSS pixel

// The same as SVG.
export function shapesOf(model: Model, view: View, scroll: number): string {
  const shapes = new Shapes(Math.round(view.width * FINE), Math.round(view.height * FINE), FINE),
    pen = new ShapePen(),
    look = styles();
  drawOver(model, view, pen, look, paint(model, view, look, shapes, scroll, FINE), scroll);
  return `${shapes}${pen}`;
}

const PAPER = 4; // pixels of what is printed, in a CSS pixel

// The same for paper, with blocks as fine pixels: what prints makes large pictures of each textured shape.
export function printOf(model: Model, view: View, scroll: number): string {
  const fine = new Raster(Math.round(view.width * PAPER), Math.round(view.height * PAPER), Math.log2(PAPER)),
    canvas = document.createElement("canvas"),
    pen = new ShapePen(),
    look = styles();
  fine.clear(packed(look.paper));
  drawOver(model, view, pen, look, paint(model, view, look, fine, scroll, PAPER), scroll);
  [canvas.width, canvas.height] = [fine.width, fine.height];
  fine.show(canvas.getContext("2d")!);
  return `<image width="${view.width}" height="${view.height}" href="${canvas.toDataURL()}"/>${pen}`;
}

// Names, lines and outlines over the blocks.
function drawOver(model: Model, view: View, pen: Pen, look: Styles, labels: Label[], scroll: number): void {
  pen.translate(0, -scroll);
  for (const label of labels) drawLabel(model, pen, label);
  drawSlices(model, view, pen, look);
  drawLines(model, view, pen, look);
  drawFlows(model, view, pen, look);
  drawOutlines(model, view, pen, look, scroll);
  drawPath(model, view, pen, look);
  drawRange(view, pen, look, scroll);
  drawChain(view, pen, look, scroll);
  drawMarks(model, view, pen, look);
}

function paint(
  model: Model,
  view: View,
  look: Styles,
  surface: Surface,
  scroll: number,
  scale: number,
): Label[] {
  const rows = visibleRows(view, scroll),
    { width } = surface;
  const toSurface = (y: number) => Math.round((y - scroll) * scale);
  const row = { fill: packed(look.row), texture: null, ink: 0 };
  for (const index of rows) {
    for (const lane of view.places[index].lanes) {
      if (lane.nested) continue;
      surface.fill(0, width, toSurface(lane.y), toSurface(lane.y + lane.height), row, 0);
    }
    if (!view.together.size) paintOutside(model, view, look, surface, view.places[index], index, toSurface, scale);
  }
  const line = packed(look.line);
  for (const tick of ticksOf(view).at) {
    const x = Math.round(xOf(view, tick) * scale);
    surface.tint(x, x + 1, 0, surface.height, line, 0.6);
  }
  const painter = (palette: Palette) =>
    new LanePainter(surface, model, palette, view.begin, width / (view.end - view.begin), scale, scroll);
  const all = painter(paletteOf(model, view, look, view.tph > 0));
  paintLanes(model, view, all, rows, width);
  for (const index of rows)
    for (const series of view.places[index].series) paintSeries(view, look, surface, series, toSurface, scale);
  if (!view.tph) return all.labels;
  const some = painter(paletteOf(model, view, look, false));
  paintTph(model, view, some, rows, width);
  return some.labels;
}

function paintLanes(model: Model, view: View, painter: LanePainter, rows: number[], width: number): void {
  const level = drawnLevel(model, view);
  for (const index of rows) {
    for (const lane of view.places[index].lanes) {
      if (lane.together.length) {
        paintTogether(model, level, painter, lane, columnsOf(view, width));
        continue;
      }
      painter.turnTo(lane);
      const last = level.from[lane.lane + 1];
      for (let i = firstAfter(level, lane.lane, view.begin); i < last && level.start[i] < view.end; i++)
        painter.add(level, i);
      painter.finish();
    }
  }
}

function columnsOf(view: View, width: number): Columns {
  return { begin: view.begin, perPixel: (view.end - view.begin) / width, width };
}

// The chosen TPH only, at full strength.
function paintTph(model: Model, view: View, painter: LanePainter, rows: number[], width: number): void {
  const { base } = model;
  for (const index of rows) {
    for (const lane of view.places[index].lanes) {
      if (lane.together.length) {
        paintTogether(model, base, painter, lane, columnsOf(view, width), view.tph);
        continue;
      }
      painter.turnTo(lane);
      const own = view.tphEntries[lane.lane];
      for (let n = own.from; n < own.to; n++) {
        const i = view.tphList[n];
        if (base.end[i] >= view.begin && base.start[i] < view.end) painter.add(base, i);
      }
      painter.finish();
    }
  }
}

// The start and the end of a rank, outside of the program: hatched, under everything else.
function paintOutside(
  model: Model,
  view: View,
  look: Styles,
  surface: Surface,
  place: Place,
  row: number,
  toSurface: (y: number) => number,
  scale: number,
): void {
  const lane = place.lanes[0],
    hatched = { fill: NOTHING, texture: DIAGONAL, ink: packed(look.line) };
  for (const [begin, end] of lane ? model.outside[row] : []) {
    const edges = [xOf(view, begin), xOf(view, end)].map((x) => Math.round(x * scale));
    surface.fill(edges[0], edges[1], toSurface(lane.y), toSurface(lane.y + lane.height), hatched, 0);
  }
}

// Steps; where several lie in a pixel the greatest is drawn.
function paintSeries(
  view: View,
  look: Styles,
  surface: Surface,
  { series, y, height }: SeriesPlace,
  toSurface: (y: number) => number,
  scale: number,
): void {
  const bar = { fill: packed(look.soft), texture: null, ink: 0 },
    axis = { fill: packed(look.line), texture: null, ink: 0 },
    bottom = toSurface(y + height);
  let i = lastBefore(series.time, view.begin),
    value = i < 0 ? 0 : series.value[i];
  const perPixel = (view.end - view.begin) / surface.width;
  for (let x = 0; x < surface.width; x++) {
    let most = value;
    for (; i + 1 < series.count && series.time[i + 1] < view.begin + (x + 1) * perPixel; i++)
      most = Math.max(most, (value = series.value[i + 1]));
    if (most) surface.fill(x, x + 1, toSurface(y + height * (1 - most / series.peak)), bottom, bar, 0);
  }
  surface.fill(0, surface.width, bottom, bottom + Math.round(scale), axis, 0);
}

const widths = new Map<string, number>();

function drawLabel(model: Model, pen: Pen, { kind: number, left, right, lane }: Label): void {
  const kind = model.kinds[number],
    size = Math.min(12, lane.height - 2),
    room = right - left - 9;
  if (room < 14) return;
  pen.font = `${size}px ${FONT}`;
  pen.textBaseline = "middle";
  let text = kind.label;
  const key = `${size} ${text}`,
    needed = widths.get(key) ?? pen.measureText(text).width;
  widths.set(key, needed);
  if (needed > room) text = text.slice(0, Math.floor((text.length * room) / needed) - 1) + "…";
  if (text.length < 3 && kind.label.length > 2) return;
  const high = Math.min(lane.height - 2, size + 4);
  pen.fillStyle = kind.colour; // Below it may be hatches, or the white lines of a call without a core.
  pen.fillRect(left + 2, lane.y + (lane.height - high) / 2, Math.min(needed, room) + 4, high);
  pen.fillStyle = kind.ink;
  pen.fillText(text, left + 4, lane.y + lane.height / 2 + 0.5);
}
