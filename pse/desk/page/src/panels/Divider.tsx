// The edge of a pane, which is dragged or moved by arrow keys to give the pane another size.

import type { KeyboardEvent, PointerEvent } from "react";

const LEAST = 100; // Pixels of a pane; as much stays of what lies beside it.
const STEP = 24;

/** The edge at which the pane meets the graph. */
type Edge = "left" | "right" | "top";
const GROWS: Record<Edge, 1 | -1> = { right: 1, left: -1, top: -1 };
const SIZES: Record<Edge, string> = { right: "--left", left: "--right", top: "--drawer" };

const along = (edge: Edge) => (edge === "top" ? "height" : "width");

/** Give a pane `change` pixels more than it had. */
function resize(edge: Edge, before: number, change: number) {
  const most = (edge === "top" ? innerHeight : innerWidth) - 3 * LEAST;
  const size = Math.min(Math.max(before + GROWS[edge] * change, LEAST), most);
  document.querySelector<HTMLElement>(".desk")!.style.setProperty(SIZES[edge], `${size}px`);
}

/** The size of what the divider's pane shows. */
function sizeOf(divider: Element, edge: Edge): number {
  const shown = edge === "top" ? divider.parentElement!.querySelector(".body:not([hidden])") : divider.parentElement;
  return shown?.getBoundingClientRect()[along(edge)] ?? LEAST;
}

export function Divider({ edge, label }: { edge: Edge; label: string }) {
  const place = (event: PointerEvent | globalThis.PointerEvent) => (edge === "top" ? event.clientY : event.clientX);
  const drag = (event: PointerEvent<HTMLElement>) => {
    const [divider, start, before] = [event.currentTarget, place(event), sizeOf(event.currentTarget, edge)];
    divider.setPointerCapture(event.pointerId);
    const moved = (now: globalThis.PointerEvent) => resize(edge, before, place(now) - start);
    divider.addEventListener("pointermove", moved);
    divider.addEventListener("lostpointercapture", () => divider.removeEventListener("pointermove", moved), { once: true });
  };
  const press = (event: KeyboardEvent<HTMLElement>) => {
    const change = { ArrowUp: -STEP, ArrowLeft: -STEP, ArrowDown: STEP, ArrowRight: STEP }[event.key];
    if (change) resize(edge, sizeOf(event.currentTarget, edge), change);
  };
  return (
    <div
      className={`divider ${edge}`}
      role="separator"
      aria-label={label}
      aria-orientation={edge === "top" ? "horizontal" : "vertical"}
      tabIndex={0}
      onPointerDown={drag}
      onKeyDown={press}
    />
  );
}
