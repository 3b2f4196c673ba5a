// Over time: what ranks do, what they hold, and what they send; below, the load of each call site.

import { element } from "../../shared/elements";
import { bytes, counted as countOf, duration, moment, percent, threeDigits } from "../../shared/numbers";
import { loadsOf, type Load } from "../data/sites";
import type { Model } from "../data/model";
import { BANDS, type Band, bandsOf, counted, counterOf, sentOf } from "../data/tracks";
import { pathOver } from "../drawing/path";
import { prepared, type Styles, styles } from "../drawing/styles";
import { showTip } from "../panel";
import type { Panel } from "./panel";
import { sortedTable } from "./table";
import type { TimelineState } from "../state";
import { timeAt } from "../view";

const HIGH = 44;

interface Layer {
  name: string;
  colour: string;
  values: Float64Array;
}

interface Track {
  name: string;
  layers: Layer[];
  text(value: number): string;
  most?: number;
}

export const tracksPanel: Panel = {
  id: "load",
  title: "Load and memory",
  there: (model) => model.blocks > 0,
  fill(timeline, begin, end, again) {
    const tracks = tracksOf(timeline),
      { loads, merged } = loadsOf(timeline.model, begin, end);
    return [...tracks.map((track) => trackOf(timeline, track)), ...table(loads, merged, again)];
  },
};

function bandColours(look: Styles): Record<Band, string> {
  return { computing: "#0072B2", preempted: "#D55E00", asleep: "#E69F00", waiting: look.dark ? "#59626d" : "#c3c9d1" };
}

function tracksOf({ model, view }: TimelineState): Track[] {
  const parts = Math.max(1, Math.floor(view.width)),
    { begin, end } = view,
    look = styles(),
    bands = bandsOf(model, begin, end, parts),
    colours = bandColours(look),
    found: Track[] = [
      {
        name: "ranks",
        layers: BANDS.map((band) => ({
          name: model.stacked ? { waiting: "in MPI", computing: "outside of MPI" }[band as string] ?? band : band,
          colour: colours[band],
          values: bands[band],
        })).filter(({ values }) => values.some((value) => value > 0)),
        text: (value) => (Number.isInteger(value) ? String(value) : threeDigits(value)),
        most: model.rows.length,
      },
    ];
  for (const [name, text] of [["memory", bytes], ["queues", (value: number) => countOf(value, "entry", "entries")]] as const) {
    if (!model.series.some((series) => series.name === name)) continue;
    const values = counted(counterOf(model, name), begin, end, parts);
    found.push({ name, layers: [{ name: name === "memory" ? "held by all" : "in all queues", colour: look.soft, values }], text });
  }
  if (model.path.length) found.push(pathTrack(model, begin, end, parts, look));
  if (model.messages.sent.length)
    found.push({ name: "sent", layers: [{ name: "per pixel", colour: "#009E73", values: sentOf(model, begin, end, parts) }], text: bytes });
  return found;
}

const NAMED = 4; // kinds of parts of the path with a colour of their own

// What the critical path is made of: of each pixel all kinds together are all of it.
function pathTrack(model: Model, begin: number, end: number, parts: number, look: Styles): Track {
  const each = (end - begin) / parts,
    kinds = pathOver(model, begin, end, parts),
    shares = (times: Float64Array) => times.map((time) => time / each),
    rest = new Float64Array(parts);
  for (const [, times] of kinds.slice(NAMED)) times.forEach((time, x) => (rest[x] += time));
  const layers = kinds.slice(0, NAMED).map(([name, times]) => ({ name, colour: pathColour(model, name, look), values: shares(times) }));
  if (kinds.length > NAMED) layers.push({ name: "rest", colour: look.line, values: shares(rest) });
  return { name: "path", layers, text: percent, most: 1 };
}

function pathColour({ groups }: Model, kind: string, look: Styles): string {
  const own = groups.find(({ id }) => id === `call:${kind}` || id === `routine:${kind}`);
  return own?.colour ?? ({ waits: look.dark ? "#59626d" : "#c3c9d1", "hand-over": look.accent }[kind] || look.soft);
}

function trackOf({ model, view }: TimelineState, track: Track): HTMLElement {
  const made = element("div", undefined, { class: "track" }),
    canvas = element("canvas", undefined, { role: "img" }),
    pen = prepared(canvas, view.width, HIGH),
    sums = new Float64Array(track.layers[0]?.values.length ?? 0);
  for (const { values } of track.layers) values.forEach((value, x) => (sums[x] += value));
  const most = track.most ?? sums.reduce((a, b) => Math.max(a, b), 0);
  const base = new Float64Array(sums.length).fill(HIGH);
  for (const { values, colour } of track.layers) {
    pen.fillStyle = colour;
    values.forEach((value, x) => {
      const high = most ? (value / most) * (HIGH - 2) : 0;
      if (high > 0) pen.fillRect(x, (base[x] -= high), 1, high);
    });
  }
  const keys = track.layers.map(({ name, colour }) => {
    const key = element("span", name);
    key.style.setProperty("--swatch", colour);
    return key;
  });
  const label = element("div", undefined, { class: "name" });
  label.append(element("b", track.name), ` ≤ ${track.text(most)}`, ...keys);
  canvas.setAttribute("aria-label", `${track.name} over the window, up to ${track.text(most)}`);
  canvas.onpointermove = ({ offsetX, clientX, clientY }) => {
    const x = Math.min(sums.length - 1, Math.max(0, Math.floor(offsetX))),
      tip = element("div", `${moment(timeAt(view, offsetX), (view.end - view.begin) / view.width, model.end)}: `);
    tip.append(track.layers.map(({ name, values }) => `${name} ${track.text(values[x])}`).join(", "));
    showTip(tip, clientX, clientY);
  };
  canvas.onpointerleave = () => showTip(null);
  made.append(label, canvas);
  return made;
}

function table(loads: Load[], merged: number, again: () => void): HTMLElement[] {
  if (!loads.length) return [];
  const share = (title: "computing" | "preempted" | "asleep") => ({
    title,
    key: (one: Load) => one[title],
    text: (one: Load) => percent(one[title]),
  });
  const columns = [
    { title: "call site and thread", key: (one: Load) => one.name, text: (one: Load) => one.name },
    { title: "time", key: (one: Load) => one.time, text: (one: Load) => duration(one.time) },
    { title: "calls", key: (one: Load) => one.calls, text: (one: Load) => one.calls.toLocaleString("en") },
    share("computing"),
    share("preempted"),
    share("asleep"),
  ];
  const note = merged ? [element("p", `${countOf(merged, "call")} that the file holds merged are in the curves, not in the table.`)] : [];
  return [...sortedTable("load", columns, loads, again), ...note];
}
