// Where the time of each rank went: a bar for each row, from the bottom modules, waits, engine, start and end.

import { element } from "../../shared/elements";
import { decimal, duration, percent } from "../../shared/numbers";
import type { Model } from "../data/model";
import { rowShares } from "../data/tracks";
import { FONT, prepared, styles } from "../drawing/styles";
import { tile, waitTexture } from "../drawing/textures";
import { article, type Fact, showTip } from "../panel";
import type { Panel } from "./panel";
import type { Timeline } from "../timeline";

const HIGH = 150,
  NAMES = 16,
  NAMED = 60, // CSS pixels: bars from which on they have names
  ORDERS = ["as placed", "busiest first", "most waiting first"];

let order = ORDERS[0];

interface Bar {
  row: number;
  times: Float64Array; // of groups
  busy: number; // ns
  waiting: number;
  outside: number;
}

export const ranksPanel: Panel = {
  id: "ranks",
  title: "Where the time went",
  there: (model) => model.blocks > 0,
  fill(timeline, begin, end, again) {
    const bars = barsOf(timeline.model, begin, end);
    return [choice(again), element("p", imbalanceText(timeline.model, bars), { class: "said" }), picture(timeline, bars, end - begin)];
  },
};

export function barsOf(model: Model, begin: number, end: number): Bar[] {
  const { groups, outside } = rowShares(model, begin, end);
  const sum = (times: Float64Array, wait: boolean) =>
    times.reduce((all, time, group) => all + ((model.groups[group].category === "wait") === wait ? time : 0), 0);
  const bars = groups.map((times, row) => ({ row, times, busy: sum(times, false), waiting: sum(times, true), outside: outside[row] }));
  if (order === ORDERS[1]) bars.sort((a, b) => b.busy - a.busy);
  if (order === ORDERS[2]) bars.sort((a, b) => b.waiting - a.waiting);
  return bars;
}

function choice(again: () => void): HTMLElement {
  const made = element("div", undefined, { class: "choices" }),
    select = element("select", undefined, { "aria-label": "Order of the bars" });
  select.append(...ORDERS.map((name) => element("option", name, name === order ? { selected: true } : {})));
  select.onchange = () => ((order = select.value), again());
  made.append(select);
  return made;
}

// How evenly ranks are busy.
function imbalanceText(model: Model, bars: Bar[]): string {
  const all = bars.reduce((sum, { busy }) => sum + busy, 0),
    most = bars.reduce((a, b) => (b.busy > a.busy ? b : a));
  if (!all) return "No rank is in a module or routine here.";
  const times = (most.busy * bars.length) / all;
  return `The busiest, rank ${model.rows[most.row].rank}, is so for ${duration(most.busy)}: ${decimal(times, 2)} times the mean of all.`;
}

function picture(timeline: Timeline, bars: Bar[], whole: number): HTMLElement {
  const { model, view } = timeline,
    canvas = element("canvas", undefined, { role: "img", class: "bars" }),
    named = view.width / bars.length >= NAMED,
    pen = prepared(canvas, view.width, HIGH + (named ? NAMES : 0)),
    look = styles(),
    width = view.width / bars.length,
    gap = width > 5 ? Math.min(6, width * 0.2) : 0;
  const fills = model.groups.map((group) => {
    if (group.category !== "wait") return group.colour;
    return pen.createPattern(tile(waitTexture(group.id), look.soft), "repeat")!;
  });
  pen.fillStyle = look.row;
  pen.fillRect(0, 0, view.width, HIGH);
  bars.forEach(({ times, outside }, place) => {
    let y = HIGH;
    const part = (time: number, fill: string | CanvasPattern) => {
      const high = (time / whole) * HIGH;
      pen.fillStyle = fill;
      if (high > 0) pen.fillRect(place * width, (y -= high), Math.max(1, width - gap), high);
    };
    times.forEach((time, group) => part(time, fills[group]));
    y = (outside / whole) * HIGH;
    part(outside, look.line);
  });
  pen.fillStyle = look.ink;
  pen.font = `11px ${FONT}`;
  if (named) bars.forEach(({ row }, place) => pen.fillText(model.rows[row].label, place * width, HIGH + 12, width - gap));
  canvas.setAttribute("aria-label", "For each rank the shares of its time; the legend tells the sums");
  canvas.onpointermove = ({ offsetX, clientX, clientY }) => {
    const bar = bars[Math.floor(offsetX / width)];
    showTip(bar ? article(model.rows[bar.row].where, look.soft, factsOf(model, bar, whole)) : null, clientX, clientY);
  };
  canvas.onpointerleave = () => showTip(null);
  return canvas;
}

function factsOf(model: Model, { times, outside, busy, waiting }: Bar, whole: number): Fact[] {
  const text = (time: number) => `${duration(time)}, ${percent(time / whole)}`,
    parts = model.groups.map((group, number): [string, number] => [group.name, times[number]]);
  parts.push(["start and end", outside], ["engine", whole - busy - waiting - outside]);
  return parts.filter(([, time]) => time > 0).sort((a, b) => b[1] - a[1]).slice(0, 9).map(([name, time]): Fact => [name, text(time)]);
}
