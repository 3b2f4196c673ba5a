// What a panel below the rows is.

import type { Model } from "../data/model";
import type { TimelineState } from "../state";

export interface Panel {
  id: string;
  title: string;
  there(model: Model): boolean;
  // What it shows of a window of time; `again` shows it anew.
  fill(timeline: TimelineState, begin: number, end: number, again: () => void): HTMLElement[];
}
