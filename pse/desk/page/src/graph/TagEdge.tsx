// A tag on its way from where it is made to where it is used.

import { BaseEdge, type Edge, EdgeLabelRenderer, type EdgeProps, getSmoothStepPath } from "@xyflow/react";
import { memo } from "react";
import { useDesk } from "../store";
import type { Point } from "./boxes";
import { depthOf } from "./measures";
import type { DrawnLine } from "./scene";

export type LineEdge = Edge<{ line: DrawnLine; thread: string | null; colour: string }>;

const NEAR = 3; // as far as an end may be from where the route was laid
const CORNER = 6;
const LABEL_HEIGHT = 13;
const LABELS = 150; // above all lines, which would strike them out, and below all calls

export const TagEdge = memo(function TagEdge(props: EdgeProps<LineEdge>) {
  const { id, data, style, markerEnd, selected } = props;
  const { edge } = data!.line;
  const route = useDesk((desk) => desk.layout.routes.get(id));
  const depth = useDesk((desk) => depthOf(desk, edge.tag, data!.thread));
  const path = fits(route, props) ? laid(route!) : getSmoothStepPath({ ...props, borderRadius: CORNER })[0];
  const shown = selected || depth !== "" ? 0 : data!.line.label;
  const type = [edge.tag, edge.type, edge.distribution].filter(Boolean).join(" ");
  return (
    <>
      <BaseEdge id={id} path={path} style={style} markerEnd={markerEnd} interactionWidth={14} />
      {shown !== null && <EdgeLabelRenderer>
        <div
          className={depth ? "edge-label depth nodrag nopan" : "edge-label nodrag nopan"}
          style={{ transform: `translate(-50%, 0) translate(${props.sourceX}px, ${props.sourceY + 6 + LABEL_HEIGHT * shown}px)`, zIndex: selected ? LABELS + 1 : LABELS }}
          title={edge.loop ? `${type}\nfrom one iteration to the next` : type}
        >
          {depth ? `${edge.tag} ${depth}` : selected ? type : label(edge.tag, edge.distribution)}
        </div>
      </EdgeLabelRenderer>}
    </>
  );
});

const label = (tag: string, distribution: string | null) =>
  distribution && distribution !== "@ root" && distribution !== "@ replicated" ? `${tag} ${distribution}` : tag;

/** Whether the route that was laid still begins and ends at the ports. */
function fits(route: Point[] | undefined, ends: EdgeProps): boolean {
  if (!route || route.length < 2) return false;
  const [first, last] = [route[0], route.at(-1)!];
  const near = (one: Point, x: number, y: number) => Math.abs(one.x - x) < NEAR + 4 && Math.abs(one.y - y) < NEAR + 6;
  return near(first, ends.sourceX, ends.sourceY) && near(last, ends.targetX, ends.targetY);
}

/** The path along a route, with round corners. */
function laid(route: Point[]): string {
  const parts = route.slice(1).map((to, index) => ({ from: route[index], to }));
  const inner = parts.slice(1).map(({ from, to }, index) => {
    const before = toward(from, parts[index].from);
    const after = toward(from, to);
    return `L${before.x},${before.y}Q${from.x},${from.y} ${after.x},${after.y}`;
  });
  const end = route.at(-1)!;
  return `M${route[0].x},${route[0].y}${inner.join("")}L${end.x},${end.y}`;
}

function toward(from: Point, to: Point): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const share = Math.min(CORNER, length / 2) / length;
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
}
