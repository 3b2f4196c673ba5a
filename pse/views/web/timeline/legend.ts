// Beside the picture: the legend with the numbers of a time, which add up to all of it, and what is shown.

import { byId, element } from "../shared/elements";
import { duration, moment, percent } from "../shared/numbers";
import { eachPiece, firstAfter, levelFor } from "./data/levels";
import { wakesLate, type Category, type Group, type Model } from "./data/model";
import { engineShares } from "./data/tracks";
import { styles } from "./drawing/styles";
import { ASLEEP, swatch, waitTexture } from "./drawing/textures";
import type { Layer, View } from "./view";

const SECTIONS: [Category, string][] = [
  ["call", "Modules"],
  ["wait", "Waits"],
  ["routine", "Routines"],
  ["state", "Wait states of MPI"],
];
const FEW = 10;

interface Cells {
  time: HTMLElement;
  share: HTMLElement;
}

let cells = new Map<string, Cells>(); // of groups and of what else there is, by id

export function buildLegend(model: Model, view: View, changed: () => void): void {
  const legend = byId("legend"),
    { times } = accounted(model, model.begin, model.end);
  cells = new Map();
  for (const [category, title] of SECTIONS) {
    const groups = model.groups.filter((group) => group.category === category);
    if (!groups.length) continue;
    if (category === "routine") groups.sort((a, b) => times.get(b.id)! - times.get(a.id)!);
    const inside = category === "routine" && !model.stacked;
    legend.append(section(inside ? `${title} inside` : title, groups, view, changed));
  }
  legend.append(rest(model));
}

function section(title: string, groups: Group[], view: View, changed: () => void): HTMLElement {
  const made = element("section", undefined, { class: "group", "aria-label": title });
  const head = element("header");
  const all = element("button", "all or none", { type: "button", "aria-label": `${title}: show all or none` });
  head.append(element("h3", title), all);
  if (!cells.size)
    head.append(
      element("span", "time", { class: "time" }),
      element("span", "share", { class: "share", title: "Of the time of all ranks that are shown" }),
    );
  const keys = groups.map((group) => legendKey(group, view, changed));
  made.append(head, ...keys.map(({ key }) => key));
  all.onclick = () => {
    const show = groups.some((group) => view.hidden.has(group.id));
    for (const { box } of keys) if (box.checked !== show) box.click();
  };
  if (groups.length > FEW) shorten(made, keys.map(({ key }) => key).slice(FEW));
  return made;
}

function legendKey(
  group: Group,
  view: View,
  changed: () => void,
): { key: HTMLElement; box: HTMLInputElement } {
  const key = element("label", undefined, {
    class: "key",
    title: group.name,
    "data-category": group.category,
  });
  const box = element("input", undefined, { type: "checkbox", "data-group": group.id });
  box.checked = true;
  box.style.setProperty("--swatch", group.colour);
  box.classList.toggle("hatched", Boolean(group.hatch));
  if (group.category === "wait" || group.category === "state") {
    const { failed, soft } = styles();
    box.style.setProperty("--texture", swatch(waitTexture(group.id), group.category === "wait" ? soft : failed));
  }
  box.onchange = () => {
    if (box.checked) view.hidden.delete(group.id);
    else view.hidden.add(group.id);
    changed();
  };
  key.append(box, element("span", group.name, { class: "name" }), ...numberCells(group.id));
  return { key, box };
}

function numberCells(id: string): HTMLElement[] {
  const made = { time: element("span", "", { class: "time" }), share: element("span", "", { class: "share" }) };
  cells.set(id, made);
  return [made.time, made.share];
}

// What is neither in a module nor waiting, and the sum of all.
function rest(model: Model): HTMLElement {
  const made = element("section", undefined, { class: "group", "aria-label": "Other" });
  const head = element("header");
  head.append(element("h3", "Other"));
  const known = model.engine.map((name) => [`engine:${name}`, name === "memory" ? "memory found and freed" : name]);
  const lines = [
    ...known,
    ["engine", model.stacked ? "outside of routines" : known.length ? "rest of the engine" : "engine, between calls"],
    ["outside", "start and end"],
    ["sum", "all"],
    ["preempted", "of modules: without a core"],
    ["waking", "of waits: over, not awake yet"],
  ].map(([id, name]) => {
    const line = element("div", undefined, { class: id === "sum" ? "key sum" : "key" });
    if (id === "waking") line.append(sample(swatch(ASLEEP, styles().failed)));
    line.append(element("span", name, { class: "name" }), ...numberCells(id));
    line.hidden =
      (id === "preempted" && !model.preempted.some((lost) => lost > 0)) ||
      (id === "waking" && !model.late.some((_, wait) => wakesLate(model, wait)));
    return line;
  });
  made.append(head, ...lines);
  return made;
}

// What a hatch looks like that no box of the legend shows or hides.
function sample(background: string): HTMLElement {
  const made = element("span", undefined, { class: "sample", "aria-hidden": "true" });
  made.style.background = background;
  return made;
}

function shorten(section: HTMLElement, rest: HTMLElement[]): void {
  const more = element("button", `${rest.length} more`, { type: "button", class: "more" });
  for (const key of rest) key.hidden = true;
  more.onclick = () => {
    for (const key of rest) key.hidden = false;
    more.remove();
  };
  section.append(more);
}

export function buildLayers(model: Model, view: View, changed: () => void): void {
  const names: Record<Layer, string> = {
    lines: model.lines,
    nested: model.nested,
    states: "wait states of pse analyze",
    slices: "time slices and matches",
    memory: "memory held",
    queues: "queue depths",
    path: "critical path",
    marks: "marks",
  };
  const there: Record<Layer, boolean> = {
    lines: model.messages.sent.length > 0 && !model.messages.step,
    nested: model.lanes.some((lane) => lane.nested && !lane.layer),
    states: model.lanes.some((lane) => lane.layer === "states"),
    slices: model.slices.begin.length + model.matches.begin.length > 0,
    path: model.path.length > 0,
    marks: model.marks.length > 0,
    memory: model.series.some((series) => series.name === "memory"),
    queues: model.series.some((series) => series.name === "queues"),
  };
  for (const layer of Object.keys(names) as Layer[]) {
    if (!there[layer]) continue;
    const key = element("label", undefined, { class: "key" });
    const box = element("input", undefined, { type: "checkbox", "data-layer": layer });
    box.checked = view.layers[layer];
    box.onchange = () => {
      view.layers[layer] = box.checked;
      view.layersChosen = true;
      changed();
    };
    key.append(
      box,
      element("span", names[layer], { class: "name" }),
      element("span", "", { class: "time", id: `about-${layer}` }),
    );
    byId("layers").append(key);
  }
  byId("layers").hidden = byId("layers").children.length === 1;
}

// Where the time of all rows went between two moments: in each group of the legend, what lies between blocks
// (`engine`, and what is known of it by itself), and before and after the program (`outside`).
export function accounted(model: Model, begin: number, end: number): { times: Map<string, number>; all: number } {
  const sums = new Float64Array(model.groups.length),
    level = levelFor(model.levels, (end - begin) / 2000);
  let covered = 0,
    outside = 0,
    preempted = 0,
    waking = 0;
  model.own.forEach((number) => {
    eachPiece(level, number, begin, end, (piece, inside) => {
      sums[model.groupOf[level.kind[piece]]] += inside;
      if (!model.lanes[number].nested) covered += inside;
    });
  });
  model.own.forEach((lane) => {
    preempted += preemptedIn(model, lane, begin, end);
    waking += wakingIn(model, lane, begin, end);
  });
  for (const spans of model.outside)
    for (const [from, to] of spans) outside += Math.max(0, Math.min(to, end) - Math.max(from, begin));
  const all = (end - begin) * model.rows.length,
    times = new Map(model.groups.map((group, number) => [group.id, sums[number]]));
  const engine = engineShares(model, begin, end);
  model.engine.forEach((name, part) => {
    const time = engine.reduce((sum, own) => sum + own[part], 0);
    covered += time;
    times.set(`engine:${name}`, time);
  });
  times.set("outside", outside).set("engine", Math.max(0, all - covered - outside)).set("sum", all);
  times.set("preempted", preempted).set("waking", waking);
  return { times, all };
}

// How long calls of a lane were ready to run without a core, in a window.
function preemptedIn({ base, preempted }: Model, lane: number, begin: number, end: number): number {
  let sum = 0;
  for (let i = firstAfter(base, lane, begin); i < base.from[lane + 1] && base.start[i] < end; i++) {
    if (!preempted[i]) continue;
    const inside = Math.min(end, base.end[i]) - Math.max(begin, base.start[i]);
    sum += (preempted[i] * inside) / Math.max(1, base.end[i] - base.start[i]);
  }
  return sum;
}

// How long waits of a lane went on after what ended them, in a window.
function wakingIn(model: Model, lane: number, begin: number, end: number): number {
  const { base, woken } = model;
  let sum = 0;
  for (let i = firstAfter(base, lane, begin); i < base.from[lane + 1] && base.start[i] < end; i++)
    if (wakesLate(model, i)) sum += Math.max(0, Math.min(end, base.end[i]) - Math.max(begin, base.end[i] - woken[i]));
  return sum;
}

// Says if not all lines are drawn.
function linesText({ lines: { drawn, all } }: View): string {
  return drawn < all ? `${drawn.toLocaleString("en")} of ${all.toLocaleString("en")}` : "";
}

// The numbers of the window: time in each group, and its share of the time of all ranks.
export function showNumbers(model: Model, view: View): void {
  const length = view.end - view.begin,
    step = length / 1000;
  byId("window").replaceChildren(
    element("strong", duration(length)),
    " in view",
    element("br"),
    element("span", `${moment(view.begin, step, view.end)} to ${moment(view.end, step)}`),
  );
  const { times, all } = accounted(model, view.begin, view.end);
  for (const [id, { time: timeCell, share }] of cells) {
    const time = times.get(id) || 0;
    timeCell.textContent = time ? duration(time) : "–";
    share.textContent = time ? percent(time / all) : "";
  }
  const about = document.getElementById("about-lines");
  if (about) about.textContent = linesText(view);
}
