// Entries of the time line that are drawn with an outline.

import { laneOf } from "./levels";
import type { Model } from "./model";

// Entries by time with their lanes; `longest`: how far before the window one that reaches into it may begin.
export interface Outlined {
  entries: number[];
  lanes: Uint32Array;
  longest: number;
}

export function outlined(model: Model, entries: number[]): Outlined {
  const { start, end } = model.base;
  const longest = entries.reduce((most, entry) => Math.max(most, end[entry] - start[entry]), 0);
  return { entries, lanes: Uint32Array.from(entries, (entry) => laneOf(model.base, entry)), longest };
}
