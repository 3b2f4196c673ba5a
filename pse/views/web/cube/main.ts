// The page: links the three trees, and turns numbers into text.

import { byId, element } from "../shared/elements";
import { bytes, counted, decimal, duration, moment } from "../shared/numbers";
import type { CallPath, Cube, Metric, SystemNode } from "./model";
import { longestWaits, readCube, sumsByLocation, sumsByPath, systemNodes } from "./model";
import { LESS, MORE, STEPS, Tree, type TreeNode } from "./tree";

const MOST_WAITS = 30;
let cube: Cube, system: SystemNode[];
let trees: Record<"metrics" | "paths" | "system", Tree>;
let waits: ReturnType<typeof longestWaits>;

// Fills the page.
export async function start(): Promise<void> {
  cube = await readCube();
  system = systemNodes(cube);
  trees = {
    metrics: new Tree(byId("metrics"), cube.metrics.map(metricNode), show),
    paths: new Tree(byId("paths"), cube.paths.map(pathNode), show),
    system: new Tree(byId("system"), system, show),
  };
  trees.metrics.hides = (number) => !trees.metrics.whole[number] && !cube.metrics[number].count;
  waits = longestWaits(cube, MOST_WAITS);
  fillHead();
  showScale();
  listen();
  const { nodes, open } = trees.system;
  nodes.forEach((node, number) => node.children.length && nodes.length < 200 && open.add(number));
  trees.metrics.open.add(0);
  trees.paths.open.add(0);
  choose(waits[0]?.metric ?? 0, waits[0]?.path ?? 0);
}

function metricNode(metric: Metric): TreeNode {
  return { parent: metric.parent, label: metric.title, title: `${metric.name}: ${metric.meaning}` };
}

function pathNode(path: CallPath): TreeNode {
  const file = path.place.replace(/^.*\//, "");
  return { parent: path.parent, label: path.name, note: file, title: `${path.name} ${path.place}`.trim() };
}

const rootOf = (metric: number): number => {
  while (cube.metrics[metric].parent >= 0) metric = cube.metrics[metric].parent;
  return metric;
};

function written(value: number, unit: string): string {
  const sign = value < 0 ? "−" : cube.difference && value > 0 ? "+" : "",
    size = Math.abs(value);
  if (unit === "ns") return sign + duration(size);
  return sign + (unit === "bytes" ? bytes(Math.round(size)) : decimal(size, Number.isInteger(size) ? 0 : 1));
}

// A share of what is 100 %, with as many digits as matter.
function shareText(value: number, whole: number): string {
  if (!whole) return "–";
  const share = (100 * value) / whole,
    sign = share < 0 ? "−" : cube.difference ? "+" : "",
    size = Math.abs(share);
  return size < 0.05 ? `${sign}<0.1 %` : `${sign}${decimal(size, size < 9.95 ? 1 : 0)} %`;
}

// How to write numbers of a metric in the mode that is chosen; `left` is what is selected to the left.
function writer(metric: number, left: number): (value: number) => string {
  const mode = byId<HTMLSelectElement>("mode").value,
    unit = cube.metrics[metric].unit,
    whole = cube.whole[cube.metrics[rootOf(metric)].name];
  if (mode === "absolute") return (value) => written(value, unit);
  return (value) => shareText(value, mode === "whole" ? whole : left);
}

function show(): void {
  const { metrics, paths } = trees,
    metric = metrics.chosen,
    own = metrics.open.has(metric) && metrics.nodes[metric].children.length > 0;
  showMetrics();
  const chosen = metrics.shown(metric),
    byPath = sumsByPath(cube, metric, own);
  paths.show(byPath.alone, byPath.whole, writer(metric, chosen), (value) => value / sumOfSizes(byPath.alone));
  const path = paths.chosen,
    withCalled = !(paths.open.has(path) && paths.nodes[path]?.children.length);
  showSystem(sumsByLocation(cube, metric, own, path, withCalled), writer(metric, paths.shown(path)));
  showSelected(metric, path);
  showWaits();
}

const sumOfSizes = (values: Float64Array): number =>
  values.reduce((sum, value) => sum + Math.abs(value), 0) || 1;

function showMetrics(): void {
  const whole = cube.metrics.map((_, number) => cube.metrics[number].values.reduce((sum, value) => sum + value, 0));
  const alone = whole.slice();
  cube.metrics.forEach((metric, number) => metric.parent >= 0 && (alone[metric.parent] -= whole[number]));
  const all = cube.metrics.map((_, number) => cube.whole[cube.metrics[rootOf(number)].name]);
  // What sums of floating-point numbers leave of nothing.
  alone.forEach((value, number) => Math.abs(value) < 1e-9 * Math.abs(whole[number]) && (alone[number] = 0));
  trees.metrics.show(
    alone,
    whole,
    (value, number) => writer(number, all[number])(value),
    (value, number) => value / (all[number] || 1),
  );
}

function showSystem(sums: Float64Array, write: (value: number) => string): void {
  const of = (node: SystemNode, which: (location: number) => number) => node.locations.reduce((sum, location) => sum + which(location), 0);
  const whole = system.map((node) => of(node, (location) => sums[location]));
  const alone = trees.system.nodes.map((node, number) => (node.children.length ? 0 : whole[number]));
  trees.system.show(alone, whole, write, (value) => value / sumOfSizes(sums));
}

// Levels of a recursion are written once, with their number, as `call_path_text` in `pse/text.py` does.
function pathText(path: number): string {
  const names: string[] = [],
    parts: string[] = [];
  for (; path >= 0; path = cube.paths[path].parent) names.push(cube.paths[path].name);
  names.reverse();
  for (let place = 0; place < names.length; ) {
    let [period, times] = [1, 2, 3, 4].map((p) => [p, turns(names, place, p)]).reduce((a, b) => (b[1] > a[1] ? b : a));
    if (times < 3) period = times = 1;
    const turn = names.slice(place, place + period).join(" / ");
    parts.push((period > 1 ? `(${turn})` : turn) + (times > 1 ? ` × ${times}` : ""));
    place += period * times;
  }
  return parts.join(" / ");
}

// How often so many names come from a place on, one time after the other.
function turns(names: string[], place: number, period: number): number {
  let end = place + period;
  while (end < names.length && names[end] === names[end - period]) end++;
  return Math.floor((end - place) / period);
}

function showSelected(metric: number, path: number): void {
  const { title, name, meaning } = cube.metrics[metric],
    { kind, place } = cube.paths[path] ?? { kind: "", place: "" };
  byId("about").replaceChildren(
    element("p", `${title} (${name}): ${meaning}`),
    element("p", cube.paths.length ? `${pathText(path)} (${[kind, place].filter(Boolean).join(", ")})` : ""),
    longestText(metric, path),
  );
}

// The longest single wait, with a link to it if there is a page with the time line.
function longestText(metric: number, path: number): HTMLElement | string {
  const found = cube.longestOf(metric, path);
  if (!found) return "";
  const where = `rank ${found.rank}, in the call at ${moment(found.begin, Math.max(found.value / 10, 1))}`;
  const line = element("p", `The longest: ${duration(found.value)} on `);
  const { timeline } = cube,
    target = `${encodeURIComponent(timeline)}#from=${found.begin}&until=${found.end}&rank=${found.rank}`;
  line.append(timeline ? element("a", where, { href: target, target: "timeline" }) : where);
  return line;
}

function showWaits(): void {
  byId("worst").hidden = !waits.length;
  byId("worst").firstElementChild!.textContent = cube.difference ? "The largest changes of waits" : "The longest waits";
  byId("worst").lastElementChild!.replaceChildren(
    ...waits.map(({ metric, path, sum }) => {
      const button = element("button", undefined, { type: "button" });
      const share = shareText(sum, cube.whole[cube.metrics[rootOf(metric)].name]);
      button.append(
        element("span", written(sum, "ns"), { class: "value" }),
        element("span", share, { class: "value" }),
        element("span", `${cube.metrics[metric].title}: ${pathText(path)}`, { class: "label" }),
      );
      button.addEventListener("click", () => choose(metric, path));
      const item = element("li");
      item.append(button);
      return item;
    }),
  );
}

// Selects a metric and a call path, wherever they are folded.
function choose(metric: number, path: number): void {
  trees.metrics.reveal(metric);
  trees.paths.reveal(path);
  show();
  trees.metrics.scrollToChosen();
  trees.paths.scrollToChosen();
}

function showScale(): void {
  const boxes = (colours: string[]) =>
    colours.map((colour) => {
      const box = element("i");
      box.style.background = colour;
      return box;
    });
  const bounds = STEPS.slice(1).map((step) => `${100 * step}`);
  if (cube.difference) byId("scale").append("became less ", ...boxes(LESS.toReversed()), " ");
  byId("scale").append(
    ...boxes(MORE),
    cube.difference ? " became more;" : "",
    ` share: up to ${bounds.join(", ")}, 100 %`,
  );
}

function find(again: boolean): void {
  const wanted = byId<HTMLInputElement>("query").value.trim().toLowerCase();
  const found = wanted ? cube.paths.flatMap((path, n) => (path.name.toLowerCase().includes(wanted) ? [n] : [])) : [];
  byId("hits").textContent = wanted ? counted(found.length, "hit") : "";
  if (!found.length) return;
  const next = found.find((path) => (again ? path > trees.paths.chosen : path >= trees.paths.chosen));
  choose(trees.metrics.chosen, next ?? found[0]);
}

function listen(): void {
  byId("mode").addEventListener("change", show);
  byId("query").addEventListener("input", () => find(false));
  byId("search").addEventListener("submit", (event) => (event.preventDefault(), find(true)));
  byId("ask").addEventListener("click", () => byId<HTMLDialogElement>("help").showModal());
  document.addEventListener("keydown", (event) => {
    if ((event.target as HTMLElement).matches("input, select") || event.ctrlKey || event.metaKey) return;
    if (event.key === "/") (event.preventDefault(), byId("query").focus());
    if (event.key === "?") byId<HTMLDialogElement>("help").showModal();
  });
}

function fillHead(): void {
  byId("name").textContent = cube.title;
  byId("facts").textContent = cube.facts.join(" · ");
  if (!cube.notes.length) return;
  byId("notes").hidden = false;
  byId("notes").firstElementChild!.textContent = counted(cube.notes.length, "warning");
  byId("notes").lastElementChild!.append(...cube.notes.map((note) => element("li", note)));
}
