// What of a program's graph is drawn: boxes with ports and lines between them, as far as frames aren't folded.

import { alike } from "../difference";
import type { End, ProgramEdge, ProgramFrame, ProgramGraph, ProgramNode, ProgramPort } from "../protocol";
import type { Box, Line, Port } from "./boxes";

export interface DrawnPort extends Port {
  name: string; // as it is shown
  port: ProgramPort | null; // null: a field of a frame, or a tag into or out of a folded frame
  connected: boolean;
}

export interface DrawnBox extends Box {
  ports: DrawnPort[];
  node: ProgramNode | null;
  shown: ProgramFrame | null;
  folded: boolean;
}

export interface DrawnLine extends Line {
  edge: ProgramEdge;
  label: number | null; // its place below the port, where the line is the first of its tag there
}

export interface Scene {
  boxes: DrawnBox[];
  lines: DrawnLine[];
}

const CALL_HEIGHT = 70;
const PLAIN_HEIGHT = 52;
const FOLDED_HEIGHT = 40;
const PORT_GAP = 14;
const LONGEST_VALUE = 16;

const canvas = document.createElement("canvas").getContext("2d")!;

function textWidth(text: string, font: string): number {
  canvas.font = font;
  return canvas.measureText(text).width;
}

const SMALL = '10.5px system-ui, "DejaVu Sans", sans-serif';
const NAME = '650 13px system-ui, "DejaVu Sans", sans-serif';

/** The scene of a graph; boxes and lines that look as in the scene before are the same objects, so they are not drawn anew. */
export function drawnScene(graph: ProgramGraph, folded: ReadonlySet<string>, before: Scene): Scene {
  const frames = new Map(graph.frames.map((frame) => [frame.id, frame]));
  const around = new Map([
    ...graph.frames.map((frame) => [frame.id, foldedAround(frame.parent, frames, folded)] as const),
    ...graph.nodes.map((node) => [node.id, foldedAround(node.frame, frames, folded)] as const),
  ]);
  const known = { boxes: byId(before.boxes), lines: byId(before.lines) };
  const lines = drawnLines(graph, around).map((line) => kept(line, known.lines));
  const used = new Set(lines.flatMap((line) => [key(line.from, line.fromPort, true), key(line.to, line.toPort, false)]));
  const hidden = implicitProgram(graph);
  const parentOf = (id: string | null) => (id === hidden ? null : id);
  const shownFrames = graph.frames.filter((frame) => frame.id !== hidden && around.get(frame.id) === null);
  const shownNodes = graph.nodes.filter((node) => around.get(node.id) === null);
  const drawnFrame = (frame: ProgramFrame) => frameBox(frame, parentOf(frame.parent), folded.has(frame.id), lines, used);
  const drawnNode = (node: ProgramNode) => keptBox(node, parentOf(node.frame), used, known.boxes) ?? nodeBox(node, parentOf(node.frame), used);
  const placed = [
    ...shownFrames.map((frame) => ({ at: frame.span.start, box: kept(drawnFrame(frame), known.boxes) })),
    ...shownNodes.map((node) => ({ at: node.span.start, box: drawnNode(node) })),
  ];
  const boxes = placed.toSorted((one, other) => one.at - other.at).map(({ box }) => box);
  return isSame(boxes, before.boxes) && isSame(lines, before.lines) ? before : { boxes, lines };
}

const byId = <One extends { id: string }>(all: One[]) => new Map(all.map((one) => [one.id, one]));

function kept<One extends { id: string }>(made: One, known: Map<string, One>): One {
  const before = known.get(made.id);
  return before && alike(before, made) ? before : made;
}

/** The box of a node that looks as before; texts need not be measured then. */
function keptBox(node: ProgramNode, parent: string | null, used: Set<string>, known: Map<string, DrawnBox>): DrawnBox | null {
  const before = known.get(node.id);
  if (!before?.node || before.parent !== parent || !alike(before.node, node)) return null;
  return before.ports.every((port) => port.connected === used.has(key(node.id, port.id, port.output))) ? before : null;
}

const isSame = <One>(all: One[], others: One[]) => all.length === others.length && all.every((one, number) => one === others[number]);

const key = (id: string, port: string, output: boolean) => `${id}\n${port}\n${output}`;

/** The program's own frame is only drawn where segments lie beside it. */
function implicitProgram(graph: ProgramGraph): string | null {
  const tops = graph.frames.filter((frame) => frame.parent === null);
  return tops.length === 1 && tops[0].kind === "program" ? tops[0].id : null;
}

/** The outermost folded frame among a frame and those around it; it stands for what is in them. */
function foldedAround(id: string | null, frames: Map<string, ProgramFrame>, folded: ReadonlySet<string>): string | null {
  let found = null;
  for (let at = id; at !== null; at = frames.get(at)?.parent ?? null) {
    if (folded.has(at)) found = at;
  }
  return found;
}

/** Lines between what is drawn; a tag goes into a folded frame once, however often it is used in it. */
function drawnLines(graph: ProgramGraph, around: Map<string, string | null>): DrawnLine[] {
  const shown = (end: End, tag: string): End => {
    const folded = around.get(end.id) ?? null;
    return folded === null ? end : { id: folded, port: tag };
  };
  const lines = new Map<string, DrawnLine>();
  for (const edge of graph.edges) {
    const from = shown(edge.from, edge.tag);
    const to = shown(edge.to, edge.tag);
    if (from.id === to.id && from.id !== edge.from.id) continue;
    const id = `${from.id}.${from.port}>${to.id}.${to.port}`;
    lines.set(id, { id, from: from.id, fromPort: from.port, to: to.id, toPort: to.port, edge, label: null });
  }
  numberLabels([...lines.values()]);
  return [...lines.values()];
}

/** What a box says: declarations with their word, others by their name alone. */
export const titleOf = ({ kind, label }: ProgramNode) =>
  kind === "let" || kind === "var" || kind === "assign" ? `${kind} ${label}` : label || kind;

/** A tag's label is shown once at each port that it leaves; those of neighbouring ports are below each other. */
function numberLabels(lines: DrawnLine[]) {
  for (const leaving of Map.groupBy(lines, (line) => line.from).values()) {
    const first = new Map(leaving.toReversed().map((line) => [line.fromPort, line]));
    [...first.values()].toReversed().forEach((line, number) => (line.label = number));
  }
}

function nodeBox(node: ProgramNode, parent: string | null, used: Set<string>): DrawnBox {
  const inputs = node.inputs.filter((port) => port.direction !== "comm" && (port.required || port.text !== null));
  const outputs = [...node.inputs.filter((port) => port.direction === "inout"), ...node.outputs];
  const tops = inputs.map((port) => drawn(node.id, port.name, inputName(port), false, port, used));
  const bottoms = outputs.map((port) => drawn(node.id, port.name, outputName(port), true, port, used));
  const title = titleOf(node);
  const label = node.labelled ? (node.thread ?? "") : `${node.thread ?? ""} (chosen)`;
  const width = Math.ceil(
    Math.max(96, textWidth(title, NAME) + 28, textWidth(label, SMALL) + 28, spread(tops), spread(bottoms)),
  );
  [tops, bottoms].forEach((ports) => centre(ports, width));
  const height = node.call ? CALL_HEIGHT : PLAIN_HEIGHT;
  const ports = [...tops, ...bottoms];
  return { id: node.id, parent, frame: false, width, height, ports, node, shown: null, folded: false };
}

function frameBox(
  frame: ProgramFrame,
  parent: string | null,
  folded: boolean,
  lines: DrawnLine[],
  used: Set<string>,
): DrawnBox {
  const arriving = lines.filter((line) => line.to === frame.id).map((line) => line.toPort);
  const leaving = lines.filter((line) => line.from === frame.id).map((line) => line.fromPort);
  const inner = frame.kind === "segment" && !folded;
  const known = (name: string) => [...frame.inputs, ...frame.outputs].find((port) => port.name === name) ?? null;
  const shownName = (name: string) => (frame.kind === "segment" ? name : "");
  const names = (ends: string[], own: ProgramPort[]) => [...new Set([...(inner ? own.map((one) => one.name) : []), ...ends])];
  const tops = names(inner ? leaving : arriving, frame.inputs);
  const bottoms = names(inner ? arriving : leaving, frame.outputs);
  const ports = [
    ...tops.map((name) => drawn(frame.id, name, shownName(name), inner, inner ? known(name) : null, used)),
    ...bottoms.map((name) => drawn(frame.id, name, shownName(name), !inner, inner ? known(name) : null, used)),
  ];
  const width = Math.max(160, textWidth(frame.label, NAME) + 60, spread(ports));
  ports.forEach((port, number) => (port.at = 24 + 26 * number));
  return { id: frame.id, parent, frame: !folded, width, height: FOLDED_HEIGHT, ports, node: null, shown: frame, folded };
}

function drawn(
  id: string,
  name: string,
  text: string,
  output: boolean,
  port: ProgramPort | null,
  used: Set<string>,
): DrawnPort {
  return { id: name, name: text, output, at: 0, port, connected: used.has(key(id, name, output)) };
}

const inputName = (port: ProgramPort) =>
  port.tag !== null || port.text === null ? port.name : `${port.name}: ${shortened(port.text)}`;

const outputName = (port: ProgramPort) => port.text ?? port.name;

const shortened = (text: string) => (text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE - 1)}…` : text);

const portWidth = (port: DrawnPort) => textWidth(port.name, SMALL) + PORT_GAP;

const spread = (ports: DrawnPort[]) => ports.reduce((sum, port) => sum + portWidth(port), 12);

function centre(ports: DrawnPort[], width: number) {
  let at = (width - spread(ports) + 12) / 2;
  for (const port of ports) {
    port.at = Math.round(at + portWidth(port) / 2);
    at += portWidth(port);
  }
}
