// What panels and the gutter know of the time line: what is seen, and what changes that.

import type { Model } from "./data/model";
import type { Alignment } from "./data/pair";
import type { View } from "./view";

export interface TimelineState {
  readonly model: Model;
  readonly view: View;
  changed(): void;
  arrange(): void;
  resize(): void;
  chooseRows(): void;
  sortRows(): void;
  align(by: Alignment): void;
  searchFor(query: string): void;
}
