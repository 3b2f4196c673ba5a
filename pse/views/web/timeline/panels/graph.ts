// The program's graph: calls with their time and share, tags with the bytes that went their way.

import { bytes, duration, percent } from "../../shared/numbers";
import { kindOf } from "../causes";
import type { Graph } from "../data/model";
import { siteTimes, type SiteTimes } from "../data/sites";
import { edgeBytes } from "../data/traffic";
import type { Panel } from "./panel";

const WIDTH = 158,
  HEIGHT = 44,
  APART = 104, // between columns: tags are written there
  BELOW = 18,
  EDGE = 12;

interface Spot {
  x: number;
  y: number;
}

export const graphPanel: Panel = {
  id: "graph",
  title: "Graph",
  there: (model) => model.graph.nodes.length > 0,
  fill({ model, view, searchFor }, begin, end) {
    const { graph } = model,
      times = siteTimes(model, begin, end),
      moved = edgeBytes(model, begin, end),
      whole = (end - begin) * model.rows.length,
      spots = spotsOf(graph),
      right = Math.max(...spots.map(({ x }) => x)) + WIDTH + EDGE,
      bottom = Math.max(...spots.map(({ y }) => y)) + HEIGHT + EDGE + 26,
      picture = svg("svg", { width: right, height: bottom, viewBox: `0 0 ${right} ${bottom}`, role: "img", class: "graph", "aria-label": "Calls of the program and the tags between them" });
    for (const edge of graph.edges)
      for (const target of edge.targets) picture.append(...wayOf(spots[edge.source], spots[target], edge.source >= target));
    graph.nodes.forEach((node, number) => {
      const made = nodeOf(node, spots[number], times[number], whole);
      if (view.selected !== null && kindOf(model, view.selected).node === number) made.classList.add("selected");
      const find = () => searchFor(`label == "${node.label}"`);
      made.addEventListener("click", find);
      made.addEventListener("keydown", (event) => ["Enter", " "].includes((event as KeyboardEvent).key) && (event.preventDefault(), find()));
      picture.append(made);
    });
    for (const edge of graph.edges) {
      const sum = edge.edges.reduce((all, number) => all + (moved.get(number)?.bytes ?? 0), 0);
      picture.append(...tagOf(edge.tag, sum ? bytes(sum) : "", spots[edge.source], edge.targets.map((target) => spots[target])));
    }
    const holder = document.createElement("div");
    holder.className = "graph-holder";
    holder.append(picture);
    return [holder];
  },
};

// Columns from left to right: a call is right of what defines its tags, in the order of the program.
export function spotsOf({ nodes, edges }: Graph): Spot[] {
  const column = nodes.map(() => 0),
    filled: number[] = [];
  nodes.forEach((_, node) => {
    for (const { source, targets } of edges)
      if (source < node && targets.includes(node)) column[node] = Math.max(column[node], column[source] + 1);
  });
  return nodes.map((_, node) => {
    const place = (filled[column[node]] = (filled[column[node]] ?? -1) + 1);
    return { x: EDGE + column[node] * (WIDTH + APART), y: EDGE + place * (HEIGHT + BELOW) };
  });
}

function nodeOf(node: Graph["nodes"][number], { x, y }: Spot, { time, calls, waiting }: SiteTimes, whole: number): SVGElement {
  const made = svg("g", { class: "node", tabindex: 0, role: "button" }),
    share = whole ? time / whole : 0,
    title = svg("title", {});
  title.textContent = `${node.label}, ${node.place}, ${node.thread}: ${calls.toLocaleString("en")} calls, ${duration(time)}; waited for ${duration(waiting)}`;
  made.append(
    title,
    svg("rect", { x, y, width: WIDTH, height: HEIGHT, rx: 5, fill: node.colour }),
    svg("rect", { x: x + 6, y: y + HEIGHT - 7, width: WIDTH - 12, height: 3, fill: node.ink, opacity: 0.25 }),
    svg("rect", { x: x + 6, y: y + HEIGHT - 7, width: (WIDTH - 12) * Math.min(1, share), height: 3, fill: node.ink }),
    text(shortened(node.label, 22), x + WIDTH / 2, y + 15, { fill: node.ink, "font-weight": 600 }),
    text(`${duration(time)} · ${percent(share)}`, x + WIDTH / 2, y + 31, { fill: node.ink }),
  );
  return made;
}

// A tag's way; one to an earlier call, of a later iteration, is dashed, and runs below.
function wayOf(from: Spot, to: Spot, back: boolean): SVGElement[] {
  const [x0, y0, x1, y1] = [from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2],
    bend = back ? 46 : Math.max(30, (x1 - x0) / 2),
    low = Math.max(from.y, to.y) + HEIGHT + 20;
  const path = back
    ? `M${x0} ${y0} C${x0 + bend} ${y0} ${x0 + bend} ${low} ${x0 - 20} ${low} L${x1 + 20} ${low} C${x1 - bend} ${low} ${x1 - bend} ${y1} ${x1} ${y1}`
    : `M${x0} ${y0} C${x0 + bend} ${y0} ${x1 - bend} ${y1} ${x1} ${y1}`;
  const made = svg("path", { d: path, class: "way" });
  if (back) made.setAttribute("stroke-dasharray", "4 3");
  return [made, svg("path", { d: `M${x1} ${y1} l-7 -4 v8 z`, class: "head" })];
}

function tagOf(tag: string, size: string, from: Spot, targets: Spot[]): SVGElement[] {
  if (!targets.length) return [];
  const x = from.x + WIDTH + APART / 2,
    ys = targets.map(({ y }) => y),
    y = (2 * from.y + ys[0]) / 3 + HEIGHT / 2;
  return [text(shortened(tag, 16), x, y - 4, { class: "tag" }), text(size, x, y + 10, { class: "tag soft" })];
}

const shortened = (name: string, most: number) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);

function text(content: string, x: number, y: number, attributes: Record<string, string | number>): SVGElement {
  const made = svg("text", { x, y, "text-anchor": "middle", ...attributes });
  made.textContent = content;
  return made;
}

function svg(tag: string, attributes: Record<string, string | number>): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}
