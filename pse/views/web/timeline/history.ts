// Where the reader has been: windows to go back to, and what is seen as a part of the page's address.

import { byId } from "../shared/elements";
import type { Model } from "./data/model";
import type { Alignment } from "./data/pair";
import { type Order, ORDERS, type Unit, UNITS } from "./rows";
import type { Layer, View } from "./view";

const MOST = 100,
  REST = 350; // ms after the last change: what is passed on the way is no place to go back to

type Window = [number, number];

export class History {
  private windows: Window[] = [];
  private place = -1;
  private timer = 0;

  constructor(
    private view: View,
    private settled: () => void,
  ) {}

  // Called at each change: remembers the window when nothing changes any more.
  changed(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.remember(), REST);
  }

  remember(): void {
    clearTimeout(this.timer);
    const { begin, end } = this.view,
      now = this.windows[this.place];
    if (!now || now[0] !== begin || now[1] !== end) {
      this.windows = [...this.windows.slice(0, this.place + 1), [begin, end] as Window].slice(-MOST);
      this.place = this.windows.length - 1;
    }
    this.showButtons();
    this.settled();
  }

  // The window before (-1) or after (1); undefined: there is none.
  step(by: number): Window | undefined {
    this.remember();
    const found = this.windows[this.place + by];
    if (found) this.place += by;
    this.showButtons();
    return found;
  }

  private showButtons(): void {
    byId<HTMLButtonElement>("back").disabled = this.place < 1;
    byId<HTMLButtonElement>("forward").disabled = this.place >= this.windows.length - 1;
  }
}

// What is seen, as the part of an address after `#`.
export function addressOf(model: Model, view: View): string {
  const parts = new URLSearchParams();
  if (view.begin > model.begin || view.end < model.end) parts.set("view", pair(view.begin, view.end));
  if (view.range) parts.set("range", pair(view.range.begin, view.range.end));
  if (view.markers.length) parts.set("markers", view.markers.map(Math.round).join(","));
  if (view.hidden.size) parts.set("hidden", JSON.stringify([...view.hidden]));
  if (view.selected !== null) parts.set("block", String(view.selected));
  if (view.chain) parts.set("at", String(Math.round(view.chain.time)));
  const layers = (Object.keys(view.layers) as Layer[]).filter((layer) => view.layers[layer]);
  if (view.layersChosen) parts.set("layers", layers.join(","));
  if (view.panel) parts.set("panel", view.panel);
  if (view.alignment !== "time") parts.set("align", view.alignment);
  const { order, by, alike, pinned } = view.choice,
    ranks = (rows: Set<number>) => [...rows].map((row) => model.rows[row].rank).join(",");
  if (order !== "place") parts.set("order", order);
  if (by !== "rank") parts.set("by", by);
  if (alike) parts.set("alike", "1");
  if (pinned.size) parts.set("pinned", ranks(pinned));
  if (view.choice.hidden.size) parts.set("away", ranks(view.choice.hidden));
  if (view.query) parts.set("find", view.query);
  return parts.toString();
}

const pair = (begin: number, end: number) => `${Math.round(begin)},${Math.round(end)}`;

export interface Address {
  view?: Window;
  range?: Window;
  markers: number[];
  hidden: string[];
  block: number | null;
  at?: number;
  layers?: string[];
  panel: string;
  alignment: Alignment;
  order: Order;
  by: Unit;
  alike: boolean;
  pinned: number[]; // rows
  away: number[]; // rows that are hidden
  find: string;
}

// Reads an address that `addressOf` made; what is damaged is left out.
export function readAddress(model: Model, text: string): Address {
  const parts = new URLSearchParams(text);
  const rows = (name: string) =>
    numbers(name)
      .map((rank) => model.rows.findIndex((row) => row.rank === rank))
      .filter((row) => row >= 0);
  const numbers = (name: string) =>
    (parts.get(name) ?? "").split(",").filter(Boolean).map(Number).filter(Number.isFinite);
  const window = (name: string): Window | undefined => {
    const [begin, end] = numbers(name);
    return end > begin ? [begin, end] : undefined;
  };
  return {
    view: window("view"),
    range: window("range"),
    markers: numbers("markers").slice(0, 2),
    hidden: strings(parts.get("hidden")),
    block: numbers("block")[0] ?? null,
    at: numbers("at")[0],
    layers: parts.get("layers")?.split(","),
    panel: parts.get("panel") ?? "",
    alignment: parts.get("align") === "iteration" ? "iteration" : "time",
    order: ORDERS.find((order) => order === parts.get("order")) ?? "place",
    by: UNITS.find((unit) => unit === parts.get("by")) ?? "rank",
    alike: parts.has("alike"),
    pinned: rows("pinned"),
    away: rows("away"),
    find: parts.get("find") ?? "",
  };
}

function strings(text: string | null): string[] {
  try {
    const found: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(found) ? found.map(String) : [];
  } catch {
    return [];
  }
}
