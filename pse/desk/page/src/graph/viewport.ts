// What part of the graph is seen.

import { type ReactFlowInstance, type Rect, getViewportForBounds } from "@xyflow/react";
import { type Desk, desk } from "../store";
import type { BoxNode } from "./CallNode";
import type { LineEdge } from "./TagEdge";

export type Flow = ReactFlowInstance<BoxNode, LineEdge>;

export const SMALLEST = 0.05; // scale
const READABLE = 0.35; // the smallest scale at which a graph is shown unasked
const LARGEST = 1.1; // of a graph that is shown whole
const ROOM = { top: "52px", right: "24px", bottom: "24px", left: "24px" } as const; // the legend is above

let shown: Flow | null = null;

export function useViewport(flow: Flow) {
  shown = flow;
  void showBeginning(); // of what was there before
}

let movedByHand = false;

export const moved = (event: unknown) => void (movedByHand ||= event !== null);

/** Show all again where there is more or less room now, unless somebody chose what to look at, and what is selected. */
export async function fitAgain() {
  if (movedByHand) return;
  await showBeginning();
  const [selected] = desk().selection;
  if (selected) reveal(selected);
}

/** Show all again whenever the pane gets another size. */
export function fitToPane(pane: Element) {
  const observer = new ResizeObserver(() => void fitAgain());
  observer.observe(pane);
  return () => observer.disconnect();
}

/** Show all, or the beginning of what would be too small to be read: at once, so that nothing else is drawn first. */
export async function showBeginning() {
  const [pane, graph] = [document.querySelector(".canvas")?.getBoundingClientRect(), boundsOf(desk())];
  if (!shown || !pane || !graph) return;
  movedByHand = false;
  const small = Math.min(pane.width / graph.width, pane.height / graph.height) < READABLE;
  const beginning = { x: parseInt(ROOM.left) - READABLE * graph.x, y: parseInt(ROOM.top) - READABLE * graph.y, zoom: READABLE };
  await shown.setViewport(small ? beginning : getViewportForBounds(graph, pane.width, pane.height, SMALLEST, LARGEST, ROOM));
}

/** What is drawn of a program, from edge to edge; null where nothing is. */
function boundsOf({ scene, layout }: Desk): Rect | null {
  const outer = scene.boxes.filter((box) => box.parent === null && layout.places.has(box.id));
  const places = outer.map((box) => layout.places.get(box.id)!);
  if (!places.length) return null;
  const [x, y] = [Math.min(...places.map((one) => one.x)), Math.min(...places.map((one) => one.y))];
  const [right, bottom] = [Math.max(...places.map((one) => one.x + one.width)), Math.max(...places.map((one) => one.y + one.height))];
  return { x, y, width: right - x, height: bottom - y };
}

/** Show all, as soon as what was last changed is drawn. */
export async function showAll() {
  await frame();
  await frame();
  movedByHand = false;
  await shown?.fitView({ padding: ROOM, maxZoom: LARGEST });
}

const frame = () => new Promise(requestAnimationFrame);

const TALLEST = 200; // what of a high frame is brought into view: its head, and what is first in it

/** Bring a box into view, unless it is there. */
export function reveal(id: string) {
  const box = absolutePlace(desk(), id);
  if (!shown || !box) return;
  const [width, height] = [box.width, Math.min(box.height, TALLEST)];
  const [first, last] = [shown.flowToScreenPosition(box), shown.flowToScreenPosition({ x: box.x + width, y: box.y + height })];
  const pane = document.querySelector(".canvas")!.getBoundingClientRect();
  const inside = first.x >= pane.left && last.x <= pane.right && first.y >= pane.top && last.y <= pane.bottom;
  if (!inside) void shown.setCenter(box.x + width / 2, box.y + height / 2, { zoom: shown.getZoom(), duration: 200 });
}

/** Where a box is, from the graph's origin: its place is relative to the frame around it. */
function absolutePlace(desk: Desk, id: string): Rect | null {
  const [place, box] = [desk.layout.places.get(id), desk.scene.boxes.find((one) => one.id === id)];
  if (!place || !box) return null;
  const around = box.parent === null ? { x: 0, y: 0 } : absolutePlace(desk, box.parent);
  return around && { ...place, x: place.x + around.x, y: place.y + around.y };
}
