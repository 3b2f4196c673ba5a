// Where the boxes of a graph lie: ELK lays out what is not too large, what had a place keeps it.
//
// ELK's first answer takes most of a second, for its code has to be loaded and made quick.  So the server keeps its
// answers: a program that is opened as it was is laid out without ELK.

import ELK, { type ELK as Elk, type ElkExtendedEdge, type ElkNode } from "elkjs/lib/elk-api";
import workerUrl from "elkjs/lib/elk-worker.min.js?url";
import { type Box, HEAD, type Layout, type Line, MANY, PADDING, type Place, type Point, type Port, SMALLEST_FRAME_HEIGHT, sizeOf } from "./boxes";
import { query, request } from "../http";
import { inRows } from "./rows";

const GAP = 18;

const SPACING = {
  "elk.layered.spacing.nodeNodeBetweenLayers": "42",
  "elk.layered.spacing.edgeNodeBetweenLayers": "14",
  "elk.spacing.nodeNode": "26",
  "elk.spacing.edgeNode": "14",
  "elk.spacing.edgeEdge": "10",
};

const OPTIONS = {
  ...SPACING,
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.hierarchyHandling": "INCLUDE_CHILDREN",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.json.edgeCoords": "ROOT",
  "elk.layered.cycleBreaking.strategy": "MODEL_ORDER",
  "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
  "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
  "elk.separateConnectedComponents": "false",
};

const frameOptions = (box: Box) => ({
  ...SPACING,
  "elk.padding": `[top=${HEAD + PADDING},left=${PADDING},bottom=${PADDING},right=${PADDING}]`,
  "elk.nodeSize.constraints": "MINIMUM_SIZE",
  // ELK turns a graph that goes down on its side, and forgets to turn this.
  "elk.nodeSize.minimum": `(${SMALLEST_FRAME_HEIGHT},${box.width})`,
});

let elk: Elk | null = null;
const startElk = () => (elk ??= new ELK({ workerUrl }));

/** A question to ELK and its answer, in which boxes and lines have their numbers for names. */
interface Answer {
  asked: string;
  layout: Promise<Layout>;
}

interface Kept {
  asked: string;
  places: [string, Place][];
  routes: [string, Point[]][];
}

let last: Answer | null = null;
let recalled: Promise<void> | null = null;

/** Ask how a program was laid out when it was last open. */
export function recallLayout(path: string) {
  recalled = request<{ layout: Kept | null }>("GET", `layout?${query({ path })}`)
    .then(({ layout }) => {
      if (layout) last = { asked: layout.asked, layout: Promise.resolve({ places: new Map(layout.places), routes: new Map(layout.routes) }) };
      else startElk();
    })
    .catch(() => void startElk());
}

/** Keep a layout for the next time; without it, that takes longer and is the same. */
async function keepLayout(path: string, { asked, layout }: Answer) {
  const { places, routes } = await layout;
  await request("PUT", "layout", { path, layout: { asked, places: [...places], routes: [...routes] } satisfies Kept });
}

/** Lay the graph of a program out; boxes that have a place keep it unless `known` is empty. */
export async function layOut(path: string, boxes: Box[], lines: Line[], known: Map<string, Place>): Promise<Layout> {
  const fresh = boxes.length > MANY ? inRows(boxes, lines) : await byElk(path, boxes, lines);
  if (!boxes.some((box) => known.has(box.id))) return fresh;
  return { places: keepPlaces(boxes, known, fresh.places), routes: fresh.routes };
}

/** Most edits of the text change nothing that ELK would look at: its last answer is kept. */
async function byElk(path: string, boxes: Box[], lines: Line[]): Promise<Layout> {
  await recalled;
  const graph = elkGraph(...numbered(boxes, lines));
  const asked = JSON.stringify(graph);
  if (last?.asked !== asked) {
    last = { asked, layout: startElk().layout(graph).then(collect) };
    keepLayout(path, last).catch(() => {});
  }
  const { places, routes } = await last.layout;
  return {
    places: new Map(boxes.map(({ id }, number) => [id, places.get(`${number}`)!])),
    routes: new Map(lines.map(({ id }, number) => [id, routes.get(`${number}`)!])),
  };
}

/** A graph in which boxes and lines have their numbers for names: these are the same whenever a program is opened. */
function numbered(boxes: Box[], lines: Line[]): [Box[], Line[]] {
  const numbers = new Map(boxes.map(({ id }, number) => [id, `${number}`]));
  const name = (id: string) => numbers.get(id)!;
  return [
    boxes.map((box) => ({ ...box, id: name(box.id), parent: box.parent && name(box.parent) })),
    lines.map((line, number) => ({ ...line, id: `${number}`, from: name(line.from), to: name(line.to) })),
  ];
}

function elkGraph(boxes: Box[], lines: Line[]): ElkNode {
  const inside = Map.groupBy(boxes, (box) => box.parent);
  const children = (parent: string | null): ElkNode[] =>
    (inside.get(parent) ?? []).map((box) => ({
      id: box.id,
      ...(box.frame ? {} : { width: box.width, height: box.height }),
      layoutOptions: box.frame ? frameOptions(box) : { "elk.portConstraints": "FIXED_POS" },
      ports: box.ports.map((port) => elkPort(box, port)),
      children: children(box.id),
    }));
  const edges: ElkExtendedEdge[] = lines.map((line) => ({
    id: line.id,
    sources: [portId(line.from, line.fromPort, true)],
    targets: [portId(line.to, line.toPort, false)],
  }));
  return { id: "graph", layoutOptions: OPTIONS, children: children(null), edges };
}

const portId = (box: string, port: string, output: boolean) => `${box}\n${output ? "out" : "in"}\n${port}`;

function elkPort(box: Box, port: Port) {
  return {
    id: portId(box.id, port.id, port.output),
    x: port.at,
    y: port.output ? box.height : 0,
    width: 0,
    height: 0,
    layoutOptions: { "elk.port.side": port.output ? "SOUTH" : "NORTH" },
  };
}

function collect(root: ElkNode): Layout {
  const places = new Map<string, Place>();
  const visit = (node: ElkNode) => {
    for (const child of node.children ?? []) {
      const { x = 0, y = 0, width = 0, height = 0 } = child;
      places.set(child.id, { x, y, width, height });
      visit(child);
    }
  };
  visit(root);
  const routes = new Map((root.edges ?? []).map((edge) => [edge.id, bends(edge as ElkExtendedEdge)]));
  return { places, routes };
}

const bends = (edge: ElkExtendedEdge): Point[] =>
  (edge.sections ?? []).flatMap((one) => [one.startPoint, ...(one.bendPoints ?? []), one.endPoint]);

/** Leave boxes where they were, put new ones beside them, and let frames grow around what is in them. */
export function keepPlaces(boxes: Box[], known: Map<string, Place>, fresh: Map<string, Place>): Map<string, Place> {
  const inside = Map.groupBy(boxes, (box) => box.parent);
  const places = new Map<string, Place>();
  const settle = (parent: string | null) => {
    const siblings = inside.get(parent) ?? [];
    for (const box of siblings) {
      if (box.frame) settle(box.id);
      const place = known.get(box.id) ?? guess(box, siblings, known, fresh);
      places.set(box.id, { ...place, ...sizeOf(box, inside.get(box.id) ?? [], places) });
    }
    separate(siblings, known, places);
  };
  settle(null);
  return places;
}

/** The place that ELK gives a new box, moved as far as ELK's places of its neighbours differ from theirs. */
function guess(box: Box, siblings: Box[], known: Map<string, Place>, fresh: Map<string, Place>): Place {
  const at = fresh.get(box.id)!;
  const moved = siblings.filter((one) => known.has(one.id) && fresh.has(one.id));
  const distance = (one: Box) => Math.abs(fresh.get(one.id)!.y - at.y);
  const nearest = moved.toSorted((one, other) => distance(one) - distance(other))[0];
  if (!nearest) return at;
  const was = known.get(nearest.id)!;
  const is = fresh.get(nearest.id)!;
  return { ...at, x: Math.max(PADDING, at.x + was.x - is.x), y: Math.max(PADDING, at.y + was.y - is.y) };
}

/** Move boxes down until none lies on another; those that were there before come first. */
function separate(siblings: Box[], known: Map<string, Place>, places: Map<string, Place>) {
  const order = siblings.toSorted((one, other) => {
    const first = Number(!known.has(one.id)) - Number(!known.has(other.id));
    return first || places.get(one.id)!.y - places.get(other.id)!.y;
  });
  const settled: Place[] = [];
  for (const box of order) {
    const place = places.get(box.id)!;
    let other: Place | undefined;
    while ((other = settled.find((one) => overlap(one, place)))) place.y = other.y + other.height + GAP;
    settled.push(place);
  }
}

const overlap = (one: Place, other: Place) =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height;
