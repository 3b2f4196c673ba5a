// Two fingers stretch the picture: the moments below them stay below them.

import type { Timeline } from "./timeline";
import { look, timeAt } from "./view";

const LEAST = 8; // CSS pixels between two fingers, to tell how far they stretch

export function listenToPinches(timeline: Timeline, canvas: HTMLElement): void {
  const fingers = new Map<number, number>(); // places by pointers
  let held: number[] = []; // the moments below two fingers
  const hold = () => (held = fingers.size === 2 ? [...fingers.values()].map((x) => timeAt(timeline.view, x)) : []);
  canvas.addEventListener("pointerdown", ({ pointerType, pointerId, offsetX }) => {
    if (pointerType !== "touch") return;
    fingers.set(pointerId, offsetX);
    hold();
  });
  canvas.addEventListener("pointermove", ({ pointerId, offsetX }) => {
    if (!fingers.has(pointerId)) return;
    fingers.set(pointerId, offsetX);
    if (held.length) stretch(timeline, held, [...fingers.values()]);
  });
  for (const over of ["pointerup", "pointercancel"] as const)
    canvas.addEventListener(over, ({ pointerId }) => fingers.delete(pointerId) && hold());
}

function stretch({ model, view, changed }: Timeline, [first, second]: number[], [left, right]: number[]): void {
  const perPixel = (second - first) / (right - left);
  if (Math.abs(right - left) < LEAST || !(perPixel > 0)) return;
  const begin = first - left * perPixel;
  look(model, view, begin, begin + view.width * perPixel);
  changed();
}
