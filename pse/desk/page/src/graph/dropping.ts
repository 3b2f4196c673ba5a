// Where in the program something belongs that is put somewhere on the graph.

import { arrange } from "../program";
import type { ProgramGraph } from "../protocol";
import { type Desk, desk } from "../store";
import type { BoxNode } from "./CallNode";
import { HEAD, PADDING, type Place, type Point } from "./boxes";
import { forgetPlaces } from "./memory";
import type { DrawnBox } from "./scene";

export interface Insertion {
  frame: string;
  after: string | null; // null: the first in its frame
  at?: Point; // relative to the frame
}

/** What is put at a point goes into the innermost frame there, after what lies above it. */
export function insertion({ graph, scene, layout }: Desk, point: Point, without: string | null = null): Insertion {
  const boxes = new Map(scene.boxes.map((box) => [box.id, box]));
  const frames = scene.boxes.filter((box) => box.frame && !within(box.id, without, boxes));
  const around = frames.filter((box) => contains(absolute(box.id, boxes, layout.places), point));
  const innermost = around.toSorted((one, other) => depth(other, boxes) - depth(one, boxes))[0];
  const origin = innermost ? absolute(innermost.id, boxes, layout.places) : { x: 0, y: 0 };
  const at = { x: point.x - origin.x, y: point.y - origin.y };
  const siblings = scene.boxes.filter((box) => box.parent === (innermost?.id ?? null) && box.id !== without);
  const above = siblings.filter((box) => layout.places.get(box.id)!.y + box.height / 2 < at.y);
  const after = last(graph!, above.map((box) => box.id));
  return { frame: innermost?.id ?? programFrame(graph!), after, at };
}

/** What is inserted without a place goes after the selection, or to the end of the program. */
export function insertionAfter({ graph, selection }: Desk): Insertion {
  const frames = graph!.frames.filter((frame) => selection.has(frame.id));
  const selected = last(graph!, [...selection]);
  if (selected && !frames.some((frame) => frame.id === selected)) {
    return { frame: graph!.nodes.find((node) => node.id === selected)!.frame!, after: selected };
  }
  const frame = selected ?? programFrame(graph!);
  return { frame, after: last(graph!, children(graph!, frame)) };
}

/** Where a box that was dragged belongs now; null if that is where it was. */
export function movedInto(state: Desk, node: BoxNode): Insertion | null {
  const boxes = new Map(state.scene.boxes.map((box) => [box.id, box]));
  const box = boxes.get(node.id)!;
  const origin = box.parent === null ? { x: 0, y: 0 } : absolute(box.parent, boxes, state.layout.places);
  const corner = { x: origin.x + node.position.x, y: origin.y + node.position.y };
  const centre = { x: corner.x + (node.width ?? 0) / 2, y: corner.y + (node.height ?? 0) / 2 };
  const found = insertion(state, centre, node.id);
  const before = box.node?.frame ?? box.shown?.parent;
  if (found.frame === before) return null;
  return { ...found, at: { x: found.at!.x - (node.width ?? 0) / 2, y: found.at!.y - (node.height ?? 0) / 2 } };
}

/** Keep where a box was put. */
export async function remember(id: string, at: Point) {
  const places = new Map(desk().layout.places);
  const inFrame = desk().scene.boxes.find((box) => box.id === id)?.parent !== null;
  const place = inFrame ? { x: Math.max(at.x, PADDING), y: Math.max(at.y, HEAD + PADDING) } : at;
  places.set(id, { ...places.get(id)!, ...place });
  forgetPlaces();
  await arrange(places);
}

const programFrame = (graph: ProgramGraph) => graph.frames.find((frame) => frame.kind === "program")!.id;

const children = (graph: ProgramGraph, frame: string) => [
  ...graph.nodes.filter((node) => node.frame === frame).map((node) => node.id),
  ...graph.frames.filter((one) => one.parent === frame).map((one) => one.id),
];

/** The last of some statements in the text. */
function last(graph: ProgramGraph, ids: string[]): string | null {
  const found = [...graph.nodes, ...graph.frames].filter((one) => ids.includes(one.id));
  return found.toSorted((one, other) => other.span.start - one.span.start)[0]?.id ?? null;
}

function absolute(id: string, boxes: Map<string, DrawnBox>, places: Map<string, Place>): Place {
  const place = { ...places.get(id)! };
  for (let at = boxes.get(id)!.parent; at !== null; at = boxes.get(at)!.parent) {
    place.x += places.get(at)!.x;
    place.y += places.get(at)!.y;
  }
  return place;
}

function depth(box: DrawnBox, boxes: Map<string, DrawnBox>): number {
  return box.parent === null ? 0 : 1 + depth(boxes.get(box.parent)!, boxes);
}

function within(id: string, other: string | null, boxes: Map<string, DrawnBox>): boolean {
  for (let at: string | null = id; at !== null; at = boxes.get(at)!.parent) if (at === other) return true;
  return false;
}

const contains = (place: Place, { x, y }: Point) =>
  place.x <= x && x <= place.x + place.width && place.y <= y && y <= place.y + place.height;
