// Which routine a nested one was called by.

import { firstAfter, type Level } from "./levels";
import type { Kind, Model } from "./model";

// What is nested takes its time from the routine around it, of which `take` gets the kinds and their shares.
export function caller(
  model: Model,
  level: Level,
  lane: number,
  entry: number,
  take: (outer: Kind, share: number) => void,
): void {
  const around = firstAfter(level, lane - 1, level.start[entry]);
  if (around >= level.from[lane] || level.start[around] > level.start[entry]) return;
  let whole = 0;
  for (let p = level.first[around]; p < level.first[around + 1]; p++) whole += level.time[p];
  for (let p = level.first[around]; whole && p < level.first[around + 1]; p++) {
    take(model.kinds[level.kind[p]], level.time[p] / whole);
  }
}
