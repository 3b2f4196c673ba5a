// What part of the graph is seen.

import type { ReactFlowInstance } from "@xyflow/react";
import type { BoxNode } from "./CallNode";
import type { LineEdge } from "./TagEdge";

export type Flow = ReactFlowInstance<BoxNode, LineEdge>;

const READABLE = 0.35; // the smallest scale at which a graph is shown unasked
const ROOM = { top: "52px", right: "24px", bottom: "24px", left: "24px" } as const; // the legend is above

let shown: Flow | null = null;

export const useViewport = (flow: Flow) => (shown = flow);

let movedByHand = false;

export const moved = (event: unknown) => void (movedByHand ||= event !== null);

/** Show all again where there is more or less room now, unless somebody chose what to look at. */
export const fitAgain = () => void (movedByHand || showBeginning());

/** Show all, or the beginning of what would be too small to be read. */
export async function showBeginning() {
  await frame();
  await frame();
  const [pane, graph] = [document.querySelector(".canvas")?.getBoundingClientRect(), shown?.getNodesBounds(shown.getNodes())];
  if (!shown || !pane || !graph) return;
  if (Math.min(pane.width / graph.width, pane.height / graph.height) >= READABLE) return showAll();
  movedByHand = false;
  await shown.setViewport({ x: parseInt(ROOM.left) - READABLE * graph.x, y: parseInt(ROOM.top) - READABLE * graph.y, zoom: READABLE });
}

/** Show all, as soon as what was last changed is drawn. */
export async function showAll() {
  await frame();
  await frame();
  movedByHand = false;
  await shown?.fitView({ padding: ROOM, maxZoom: 1.1 });
}

const frame = () => new Promise(requestAnimationFrame);

/** Bring a box into view, unless it is there. */
export function reveal(id: string) {
  const box = shown?.getInternalNode(id);
  if (!shown || !box) return;
  const { x, y } = box.internals.positionAbsolute;
  const centre = { x: x + (box.width ?? 0) / 2, y: y + Math.min(box.height ?? 0, 200) / 2 };
  const at = shown.flowToScreenPosition(centre);
  const pane = document.querySelector(".canvas")!.getBoundingClientRect();
  const inside = at.x > pane.left && at.x < pane.right && at.y > pane.top && at.y < pane.bottom;
  if (!inside) void shown.setCenter(centre.x, centre.y, { zoom: shown.getZoom(), duration: 200 });
}
