// Where the time of each rank went: a bar for each row, from the bottom modules, waits, engine, start and end; and all
// of them together, as a table.

import { element } from "../../shared/elements";
import { decimal, duration, percent } from "../../shared/numbers";
import type { Model } from "../data/model";
import { rowShares } from "../data/tracks";
import { FONT, prepared, type Styles, styles } from "../drawing/styles";
import { tile, waitTexture } from "../drawing/textures";
import { article, type Fact, showTip } from "../panel";
import type { Panel } from "./panel";
import { sortedTable } from "./table";
import type { TimelineState } from "../state";

const HIGH = 150,
  NAMES = 16,
  NAMED = 60, // CSS pixels: bars from which on they have names
  ORDERS = ["place", "busy", "waiting"],
  ENGINE = ["#8A929C", "#C4CAD2"]; // colours of what the engine does

// What time went to.
interface Part {
  name: string;
  kind: "call" | "routine" | "wait" | "state" | "engine" | "rest" | "outside";
  fill: string; // a colour, or of a wait the group of its texture
  times: number[]; // ns of each row
}

export const ranksPanel: Panel = {
  id: "ranks",
  title: "Where the time went",
  there: (model) => model.blocks > 0,
  fill(timeline, begin, end, again) {
    const { model, view } = timeline,
      order = ORDERS.find((name) => name === view.chosen.bars) ?? ORDERS[0],
      parts = partsOf(model, begin, end),
      rows = inOrder(model, parts, order),
      said = element("p", imbalanceText(model, parts), { class: "said" });
    return [choice(timeline, order, again), said, picture(timeline, parts, rows, end - begin), ...table(model, parts, end - begin, again)];
  },
};

// From the bottom of a bar to its top.
function partsOf(model: Model, begin: number, end: number): Part[] {
  const { groups, engine, outside } = rowShares(model, begin, end),
    column = (times: Float64Array[], number: number) => times.map((own) => own[number]);
  const parts: Part[] = [
    ...model.groups.map(({ name, category, id, colour }, number) => ({ name, kind: category, fill: category === "wait" ? id : colour, times: column(groups, number) })),
    ...model.engine.map((name, number) => ({ name, kind: "engine" as const, fill: ENGINE[number], times: column(engine, number) })),
  ];
  const rest = outside.map((time, row) => Math.max(0, end - begin - time - parts.reduce((sum, { times }) => sum + times[row], 0)));
  return [
    ...parts,
    { name: model.stacked ? "outside of routines" : model.engine.length ? "rest of the engine" : "engine", kind: "rest", fill: "", times: rest },
    { name: "start and end", kind: "outside", fill: "", times: outside },
  ];
}

const sumOf = (parts: Part[], row: number, fits: (part: Part) => boolean) => parts.reduce((sum, part) => (fits(part) ? sum + part.times[row] : sum), 0);

const inMpi = ({ kind, name }: Part) => kind === "routine" && name.startsWith("MPI_");

// In modules; of routines alone, outside of MPI.
function busy({ stacked }: Model, parts: Part[], row: number): number {
  return sumOf(parts, row, stacked ? (part) => (part.kind === "routine" || part.kind === "rest") && !inMpi(part) : ({ kind }) => kind === "call");
}

function inOrder(model: Model, parts: Part[], order: string): number[] {
  const waiting = model.stacked ? inMpi : ({ kind }: Part) => kind === "wait",
    key = (row: number) => (order === ORDERS[1] ? busy(model, parts, row) : sumOf(parts, row, waiting)),
    all = [...model.rows.keys()];
  return order === ORDERS[0] ? all : all.sort((a, b) => key(b) - key(a) || a - b);
}

function choice({ model, view, changed }: TimelineState, order: string, again: () => void): HTMLElement {
  const made = element("div", undefined, { class: "choices" }),
    select = element("select", undefined, { "aria-label": "Order of the bars" });
  const texts = ["as placed", "busiest first", model.stacked ? "most in MPI first" : "most waiting first"];
  select.append(...ORDERS.map((value, n) => element("option", texts[n], value === order ? { value, selected: true } : { value })));
  select.onchange = () => ((view.chosen.bars = select.value), again(), changed());
  made.append(select);
  return made;
}

// How evenly ranks are busy.
function imbalanceText(model: Model, parts: Part[]): string {
  const { rows, stacked } = model,
    times = rows.map((_, row) => busy(model, parts, row)),
    all = times.reduce((sum, time) => sum + time, 0),
    most = times.reduce((a, b) => Math.max(a, b), 0);
  if (!all) return stacked ? "All ranks are in MPI here." : "No rank is in a module here.";
  const rank = `rank ${rows[times.indexOf(most)].rank}, is so for ${duration(most)}: ${decimal((most * rows.length) / all, 2)} times the mean of all.`;
  return stacked ? `The longest outside of MPI, ${rank}` : `The busiest, ${rank}`;
}

function picture({ model, view }: TimelineState, parts: Part[], rows: number[], whole: number): HTMLElement {
  const canvas = element("canvas", undefined, { role: "img", class: "bars" }),
    width = view.width / rows.length,
    named = width >= NAMED,
    pen = prepared(canvas, view.width, HIGH + (named ? NAMES : 0)),
    look = styles(),
    gap = width > 5 ? Math.min(6, width * 0.2) : 0;
  const fills = parts.map((part) => fillOf(pen, part, look));
  pen.fillStyle = look.row;
  pen.fillRect(0, 0, view.width, HIGH);
  rows.forEach((row, place) => {
    let y = HIGH;
    parts.forEach(({ times }, number) => {
      const high = (times[row] / whole) * HIGH;
      y -= high;
      pen.fillStyle = fills[number];
      if (high > 0 && fills[number]) pen.fillRect(place * width, y, Math.max(1, width - gap), high);
    });
  });
  pen.fillStyle = look.ink;
  pen.font = `11px ${FONT}`;
  if (named) rows.forEach((row, place) => pen.fillText(model.rows[row].label, place * width, HIGH + 12, width - gap));
  canvas.setAttribute("aria-label", "For each rank the shares of its time; the table below has the sums");
  canvas.onpointermove = ({ offsetX, clientX, clientY }) => {
    const row = rows[Math.floor(offsetX / width)];
    showTip(row === undefined ? null : article(model.rows[row].where, look.soft, factsOf(parts, row, whole)), clientX, clientY);
  };
  canvas.onpointerleave = () => showTip(null);
  return canvas;
}

function fillOf(pen: CanvasRenderingContext2D, { kind, fill }: Part, look: Styles): string | CanvasPattern {
  if (kind === "wait") return pen.createPattern(tile(waitTexture(fill), look.soft), "repeat")!;
  return kind === "outside" ? look.line : fill;
}

function factsOf(parts: Part[], row: number, whole: number): Fact[] {
  return parts
    .filter(({ times }) => times[row] > 0)
    .sort((a, b) => b.times[row] - a.times[row])
    .slice(0, 9)
    .map(({ name, times }): Fact => [name, `${duration(times[row])}, ${percent(times[row] / whole)}`]);
}

// Of all ranks together, and how evenly they share it.
function table({ rows }: Model, parts: Part[], whole: number, again: () => void): HTMLElement[] {
  const lines = parts
    .map(({ name, times }) => ({ name, time: times.reduce((sum, time) => sum + time, 0), most: times.reduce((a, b) => Math.max(a, b), 0), times }))
    .filter(({ time }) => time > 0);
  type Line = (typeof lines)[number];
  const columns = [
    { title: "what", key: (one: Line) => one.name, text: (one: Line) => one.name },
    { title: "time", key: (one: Line) => one.time, text: (one: Line) => duration(one.time) },
    { title: "share", key: (one: Line) => one.time, text: (one: Line) => percent(one.time / (whole * rows.length)) },
    { title: "most of a rank", key: (one: Line) => one.most, text: (one: Line) => `${duration(one.most)} · rank ${rows[one.times.indexOf(one.most)].rank}` },
    { title: "by the mean", key: (one: Line) => (one.most * rows.length) / one.time, text: (one: Line) => decimal((one.most * rows.length) / one.time, 2) },
  ];
  return sortedTable("ranks", columns, lines, again);
}
