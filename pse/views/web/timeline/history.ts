// Where the reader has been: windows to go back to, and what is seen as a part of the page's address.

import { byId } from "../shared/elements";
import type { Model } from "./data/model";
import type { Alignment } from "./data/pair";
import { byTime, type Order, ORDERS, type Unit, UNITS } from "./rows";
import { type Layer, type View, visibleRows } from "./view";

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
  if (view.layersChosen) parts.set("layers", layersOf(view).join(","));
  if (view.panel) parts.set("panel", view.panel);
  if (view.alignment !== "time") parts.set("align", view.alignment);
  const chosen = Object.entries(view.chosen);
  if (chosen.length) parts.set("chosen", JSON.stringify(Object.fromEntries(chosen)));
  addRows(model, view, parts);
  if (view.query) parts.set("find", view.query);
  return parts.toString();
}

// The layers that are shown.
export function layersOf({ layers }: View): Layer[] {
  return (Object.keys(layers) as Layer[]).filter((layer) => layers[layer]);
}

// Which rows are shown, how, and which is the first.
function addRows(model: Model, view: View, parts: URLSearchParams): void {
  const { order, by, alike, sorted, pinned, hidden } = view.choice,
    ranks = (rows: Iterable<number>) => [...rows].map((row) => model.rows[row].rank).join(","),
    scroll = byId("rows").scrollTop;
  if (order !== "place") parts.set("order", order);
  if (by !== "rank") parts.set("by", by);
  if (alike) parts.set("alike", "1");
  if (byTime(view.choice) && (sorted[0] > model.begin || sorted[1] < model.end)) parts.set("sorted", pair(...sorted));
  if (pinned.size) parts.set("pinned", ranks(pinned));
  if (hidden.size) parts.set("away", ranks(hidden));
  if (view.folded.size) parts.set("folded", JSON.stringify([...view.folded]));
  if (view.scale !== 1) parts.set("high", view.scale.toFixed(3));
  if (scroll > 0) parts.set("top", ranks(visibleRows(view, scroll).slice(0, 1)));
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
  sorted?: Window;
  pinned: number[]; // rows
  away: number[]; // rows that are hidden
  folded: string[];
  high: number; // of rows, as `scale` of a view
  top: number[]; // the first row that is seen
  chosen: Record<string, string>;
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
    sorted: window("sorted"),
    pinned: rows("pinned"),
    away: rows("away"),
    folded: strings(parts.get("folded")),
    high: Math.min(4, Math.max(0.01, numbers("high")[0] || 1)),
    top: rows("top").slice(0, 1),
    chosen: chosenIn(parts.get("chosen")),
    find: parts.get("find") ?? "",
  };
}

function strings(text: string | null): string[] {
  const found = parsed(text);
  return Array.isArray(found) ? found.map(String) : [];
}

function chosenIn(text: string | null): Record<string, string> {
  const found = parsed(text);
  if (!found || typeof found !== "object" || Array.isArray(found)) return {};
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [name, String(value)]));
}

function parsed(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null;
  }
}
