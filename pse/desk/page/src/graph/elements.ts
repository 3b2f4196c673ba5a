// From the page's state to what React Flow draws.  What looks as before is the same object, so that it is not drawn anew.

import { MarkerType, type NodeHandle, Position } from "@xyflow/react";
import type { Problem } from "../protocol";
import type { Desk } from "../store";
import { type BoxNode, threadText } from "./CallNode";
import type { Place } from "./boxes";
import { darker, threadColour } from "./colours";
import type { DrawnBox, DrawnLine } from "./scene";
import type { LineEdge } from "./TagEdge";

const HANDLE = 9; // as wide and high as the style says
const LINES = 100; // above all frames: these are as high as they are deep
const CALLS = 200; // above all lines, so that none keeps a click from a call

export function nodesOf({ scene, layout, selection, graph }: Desk, known: BoxNode[]): BoxNode[] {
  const problems = Map.groupBy(graph?.diagnostics ?? [], (one) => one.node);
  const before = new Map(known.map((node) => [node.id, node]));
  const placed = scene.boxes.filter((box) => layout.places.has(box.id));
  const nodes = placed.map((box) => {
    const [place, selected, node] = [layout.places.get(box.id)!, selection.has(box.id), before.get(box.id)];
    const spoken = spokenOf(box, problems.get(box.id) ?? []);
    return node && isSame(node, box, place, selected) && node.ariaLabel === spoken ? node : nodeOf(box, place, selected, spoken);
  });
  return unlessSame(nodes, known);
}

const isSame = (node: BoxNode, box: DrawnBox, { x, y, width, height }: Place, selected: boolean) =>
  node.data.box === box && node.selected === selected &&
  node.position.x === x && node.position.y === y && node.width === width && node.height === height;

/** What a screen reader says of a box: what is written, its thread, and what is wrong with it. */
const spokenOf = ({ node, shown }: DrawnBox, problems: Problem[]) =>
  [
    node?.text ?? shown!.label,
    node?.call ? threadText(node) : "",
    ...problems.map(({ severity, message }) => `${severity}: ${message}`),
  ].filter(Boolean).join(", ");

function nodeOf(box: DrawnBox, { x, y, width, height }: Place, selected: boolean, ariaLabel: string): BoxNode {
  return {
    id: box.id,
    type: box.shown ? "frame" : "call",
    ...(box.parent === null ? {} : { parentId: box.parent }),
    position: { x, y },
    width,
    height,
    measured: { width, height },
    handles: handlesOf(box, height),
    selected,
    zIndex: box.frame ? 0 : CALLS,
    dragHandle: box.frame ? ".head" : undefined,
    ariaLabel,
    data: { box },
  };
}

/** Where ports are, so that lines are drawn before the browser has measured the boxes. */
function handlesOf({ ports, shown, folded }: DrawnBox, height: number): NodeHandle[] {
  const inside = shown?.kind === "segment" && !folded;
  return ports.map(({ id, output, at }) => ({
    id,
    type: output ? "source" : "target",
    position: output === inside ? Position.Top : Position.Bottom,
    x: at - HANDLE / 2,
    y: (output === inside ? 0 : height) - HANDLE / 2,
    width: HANDLE,
    height: HANDLE,
  }));
}

export function edgesOf({ scene, graph, session }: Desk, known: LineEdge[]): LineEdge[] {
  const before = new Map(known.map((edge) => [edge.id, edge]));
  const threads = new Map(graph?.nodes.map((node) => [node.id, node.thread]));
  const labels = new Map([...(graph?.nodes ?? []), ...(graph?.frames ?? [])].map(({ id, label }) => [id, label]));
  const named = [null, ...(graph?.threads ?? [])];
  const colours = new Map(named.map((name) => [name, darker(threadColour(session?.colours ?? [], graph?.threads ?? [], name), 0.85)]));
  const edges = scene.lines.map((line) => {
    const [from, to] = [line.edge.from, line.edge.to].map(({ id }) => threads.get(id) ?? null);
    const [colour, edge] = [colours.get(from) ?? colours.get(null)!, before.get(line.id)];
    const spoken = `${line.edge.tag} from ${labels.get(line.edge.from.id)} to ${labels.get(line.edge.to.id)}`;
    const same = edge?.data!.line === line && edge.data!.thread === to && edge.data!.colour === colour && edge.ariaLabel === spoken;
    return same ? edge : edgeOf(line, colour, to, spoken);
  });
  return unlessSame(edges, known);
}

function edgeOf(line: DrawnLine, colour: string, thread: string | null, ariaLabel: string): LineEdge {
  const { edge } = line;
  return {
    id: line.id,
    type: "tag",
    ariaLabel,
    zIndex: LINES,
    source: line.from,
    sourceHandle: line.fromPort,
    target: line.to,
    targetHandle: line.toPort,
    style: { stroke: colour, strokeWidth: edge.crosses ? 2.4 : 1.4, ...(edge.loop ? { strokeDasharray: "6 4" } : {}) },
    markerEnd: { type: MarkerType.ArrowClosed, color: colour, width: 14, height: 14, markerUnits: "userSpaceOnUse" },
    data: { line, thread, colour },
  };
}

const unlessSame = <One>(made: One[], known: One[]) =>
  made.length === known.length && made.every((one, number) => one === known[number]) ? known : made;
