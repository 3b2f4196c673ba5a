// In a frame of another document (a notebook, the desk): tells it what is seen, and shows what it asks for.

import type { Seen, Show, Shown } from "../shared/embedding";
import { kindOf } from "./causes";
import { laneOf } from "./data/levels";
import type { Model } from "./data/model";
import { addressOf } from "./history";
import type { View } from "./view";

export function tellEmbedder(model: Model, view: View): void {
  if (parent === window) return;
  const { begin, end } = view,
    told: Seen = { pse: "seen", address: addressOf(model, view), begin, end, selected: selectedIn(model, view) };
  parent.postMessage(told, "*");
}

export function listenToEmbedder(show: (address: string) => void): void {
  if (parent === window) return;
  addEventListener("message", ({ source, data }: MessageEvent<Show>) => {
    if (source === parent && data?.pse === "show") show(data.address);
  });
}

function selectedIn(model: Model, { selected }: View): Shown | null {
  if (selected === null) return null;
  const { base, lanes, rows } = model,
    { category, label, place } = kindOf(model, selected);
  return { category, label, place, rank: rows[lanes[laneOf(base, selected)].row].rank, begin: base.start[selected], end: base.end[selected] };
}
