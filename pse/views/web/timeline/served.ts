// Where a server makes the page: the page of a window alone has more detail.

import { byId } from "../shared/elements";
import type { Model } from "./data/model";
import type { View } from "./view";

const SHORT = 0.6; // of the page's time: of a longer window the page would be no finer

export function showFiner({ served, quantum, begin, end }: Model, view: View): void {
  const finer = byId<HTMLButtonElement>("finer"),
    coarser = byId<HTMLButtonElement>("coarser");
  finer.hidden = !served || !quantum || view.end - view.begin > SHORT * (end - begin);
  coarser.hidden = !served || !location.search;
  finer.onclick = () => open(`?from=${Math.round(view.begin)}&until=${Math.round(view.end)}`, "_self");
  coarser.onclick = () => open("?", "_self");
}
