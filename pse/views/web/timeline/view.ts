// What is looked at: the window in time, the rows' places, what is hidden, chosen, found.

import type { Chain } from "./causes";
import { blocksIn, firstAfter, type Level, levelFor } from "./data/levels";
import type { Kind, Mark, Model, RowSeries } from "./data/model";
import { type Outlined, outlined } from "./data/outlined";
import type { Alignment } from "./data/pair";
import type { Range } from "./range";
import { type RowChoice, rowsToShow } from "./rows";

const LEAST_MAIN = 18,
  OTHER = 0.75, // of the height of a row: the run that is compared
  MOST_MAIN = 45,
  MOST_STACKED = 30,
  NESTED = 13,
  SERIES = 26,
  STATE = 9,
  THIN = 7,
  SPACE = 5,
  PROCESSOR_SPACE = 7,
  TOP = 6;

export interface LanePlace {
  lane: number;
  together: number[]; // lanes that are drawn here as one; none: `lane` alone
  y: number;
  height: number;
  nested: boolean;
}

export interface SeriesPlace {
  series: RowSeries;
  y: number;
  height: number;
}

export interface Place {
  y: number;
  main: number;
  height: number;
  folded: boolean;
  lanes: LanePlace[];
  series: SeriesPlace[];
}

export type Layer = "lines" | "memory" | "queues" | "nested" | "states" | "slices" | "path" | "marks";

export interface View {
  begin: number;
  end: number;
  scale: number; // of the rows' heights
  width: number; // of the picture of blocks, CSS pixels
  height: number;
  total: number; // of all rows
  hidden: Set<string>; // groups of the legend
  folded: Set<string>; // processors
  layers: Record<Layer, boolean>;
  layersChosen: boolean; // by the reader
  selected: number | null; // an entry of the base level
  chain: Chain | null; // of the selected wait
  range: Range | null; // of which statistics are shown
  alignment: Alignment; // of the run that is compared
  panel: string; // which one is open, "": none
  chosen: Record<string, string>; // in panels, by what is chosen
  markers: number[]; // times, two at most
  tph: number; // place in `model.tphs`, from 1
  tphList: number[]; // its entries, lane by lane
  tphEntries: { lane: number; from: number; to: number }[];
  query: string; // what is searched for
  found: number[]; // entries, by time
  current: number; // of `found`
  failed: Outlined;
  unfinished: Outlined;
  hits: Outlined; // the found ones, to draw
  choice: RowChoice;
  order: number[]; // the rows that are shown, from top to bottom
  together: Map<number, number[]>; // of a row that is drawn with others as one, all of them
  alike: Map<number, number[]>; // of a row that stands for others, those
  places: Place[]; // of rows, see `layOut`; hidden ones have no height
  lines: { drawn: number; all: number }; // in the window
}

export function viewOf(model: Model): View {
  return {
    begin: model.begin,
    end: model.end,
    scale: 1,
    width: 0,
    height: 0,
    total: 0,
    hidden: new Set(),
    folded: new Set(),
    layers: {
      lines: !model.messages.step && model.messages.sent.length <= 400,
      memory: false,
      queues: false,
      nested: true,
      states: true,
      slices: true,
      path: false,
      marks: true,
    },
    layersChosen: false,
    selected: null,
    chain: null,
    range: null,
    alignment: "time",
    panel: "",
    chosen: {},
    markers: [],
    tph: 0,
    tphList: [],
    tphEntries: [],
    query: "",
    found: [],
    current: -1,
    failed: outlined(model, entriesOf(model, 1)),
    unfinished: outlined(model, entriesOf(model, 2)),
    hits: outlined(model, []),
    choice: { order: "place", by: "rank", sorted: [model.begin, model.end], pinned: new Set(), hidden: new Set(), alike: false },
    order: model.rows.map((_, row) => row),
    together: new Map(),
    alike: new Map(),
    places: [],
    lines: { drawn: 0, all: 0 },
  };
}

function entriesOf(model: Model, state: number): number[] {
  const found: number[] = [];
  model.state.forEach((value, entry) => value === state && found.push(entry));
  return found.sort((a, b) => model.base.start[a] - model.base.start[b]);
}

export function pixels(view: View): number {
  return view.width / (view.end - view.begin);
}

export function xOf(view: View, time: number): number {
  return (time - view.begin) * pixels(view);
}

export function timeAt(view: View, x: number): number {
  return view.begin + x / pixels(view);
}

// Moves the window, inside the trace; shorter than 20 ns makes no sense.
export function look(model: Model, view: View, begin: number, end: number): void {
  const whole = model.end - model.begin;
  const length = Math.min(Math.max(end - begin, 20), whole);
  const middle = (begin + end) / 2;
  view.begin = Math.min(Math.max(middle - length / 2, model.begin), model.end - length);
  view.end = view.begin + length;
}

export function zoom(model: Model, view: View, factor: number, time = (view.begin + view.end) / 2): void {
  const length = Math.min(Math.max((view.end - view.begin) * factor, 20), model.end - model.begin);
  const left = (time - view.begin) / (view.end - view.begin);
  look(model, view, time - left * length, time + (1 - left) * length);
}

export function shown(view: View, kind: Kind): boolean {
  return !view.hidden.has(kind.group);
}

// What is drawn to or from a row that isn't shown has no place.
const ABSENT: Place = { y: NaN, main: 0, height: 0, folded: false, lanes: [], series: [] };

// Whether rows of a processor lie together.
export function grouped(view: View): boolean {
  const { order, by, pinned, alike } = view.choice;
  return order === "place" && by === "rank" && !pinned.size && !alike;
}

// Chooses the rows anew.
export function chooseRows(model: Model, view: View): void {
  const room = Math.max(4, Math.floor(view.height / (LEAST_MAIN + SPACE + 2)));
  const found = rowsToShow(model, view.choice, room);
  [view.order, view.together, view.alike] = [found.rows, found.together, found.alike];
}

// Puts rows one below the other: their main lane, lanes of what is nested, lanes of series.
export function layOut(model: Model, view: View): void {
  const { main, below } = laneHeights(model, view);
  const thin = main < 3,
    space = thin ? 0 : Math.min(SPACE, 0.3 * main),
    between = Math.min(PROCESSOR_SPACE, 0.4 * main);
  let y = TOP,
    before: string | null = null;
  view.places = model.rows.map(() => ({ ...ABSENT }));
  view.order.forEach((index, number) => {
    const row = model.rows[index],
      members = view.together.get(index) ?? [];
    if (number && row.group !== before && grouped(view)) y += between;
    before = row.group;
    const folded = view.folded.has(row.group);
    const place: Place = {
      y,
      folded,
      lanes: [],
      series: [],
      main: folded ? Math.min(THIN, main) : main,
      height: 0,
    };
    row.lanes.forEach((lane, depth) => {
      if (depth && (folded || members.length || !view.layers[model.lanes[lane].layer || "nested"])) return;
      const height = model.lanes[lane].layer ? Math.min(STATE, below) : depth ? below : place.main;
      place.lanes.push({ lane, together: members.map((row) => model.rows[row].lanes[0]), y, height, nested: depth > 0 });
      y += height + (depth ? 1 : thin ? 0 : 2);
      if (!depth && !folded)
        for (const lane of row.others) {
          const together = members.flatMap((row) => model.rows[row].others.slice(0, 1));
          place.lanes.push({ lane, together, y, height: OTHER * place.main, nested: false });
          y += OTHER * place.main + (thin ? 0 : 2);
        }
    });
    for (const series of folded || members.length ? [] : row.series) {
      if (!view.layers[series.name]) continue;
      place.series.push({ series, y: y + 2, height: SERIES - 4 });
      y += SERIES;
    }
    place.height = y - place.y;
    y += folded ? Math.min(1, space) : space;
    for (const one of [index, ...(view.alike.get(index) ?? [])])
      for (const other of [one, ...(view.together.get(one) ?? [])]) view.places[other] = place;
  });
  view.total = y + TOP;
}

// As high as the window has room for, within what is easy to read; routines alone have lanes of one height.
function laneHeights(model: Model, view: View): { main: number; below: number } {
  const shown = view.order.map((row) => model.rows[row]),
    rows = shown.length,
    groups = grouped(view) ? new Set(shown.map((row) => row.group)).size : 1;
  const alone = !view.together.size,
    nested = alone && view.layers.nested ? shown.reduce((sum, row) => sum + row.lanes.length - 1, 0) : 0;
  const series = alone ? shown.reduce((sum, row) => sum + row.series.filter(({ name }) => view.layers[name]).length, 0) : 0;
  const room =
    view.height - 2 * TOP - rows * (SPACE + 2) - (groups - 1) * PROCESSOR_SPACE - nested - series * SERIES;
  if (model.stacked) {
    const height = view.scale * Math.min(MOST_STACKED, Math.max(NESTED, room / Math.max(1, rows + nested)));
    return { main: height, below: height };
  }
  const each = rows + OTHER * shown.reduce((sum, row) => sum + row.others.length, 0),
    main = view.scale * Math.min(MOST_MAIN, Math.max(LEAST_MAIN, (room - nested * NESTED) / Math.max(1, each)));
  return {
    main: Math.max(1, main),
    below: NESTED * Math.min(2, view.scale < 1 ? Math.min(1, main / LEAST_MAIN) : view.scale),
  };
}

// All rows at once, or as high as usual.
export function fitRows(model: Model, view: View): void {
  const all = view.total > view.height;
  view.scale = 1;
  layOut(model, view);
  while (all && view.total > view.height && view.scale > 0.01) {
    view.scale *= 0.95;
    layOut(model, view);
  }
}

// The rows that are in the window.
export function visibleRows(view: View, scroll: number): number[] {
  const from = firstBelow(view, scroll);
  let to = from;
  while (to < view.order.length && view.places[view.order[to]].y < scroll + view.height) to++;
  return view.order.slice(from, to);
}

// Of `order`, the first row that reaches below a height.
function firstBelow(view: View, y: number): number {
  let low = 0,
    high = view.order.length;
  while (low < high) {
    const middle = (low + high) >> 1,
      place = view.places[view.order[middle]];
    if (place.y + place.height > y) high = middle;
    else low = middle + 1;
  }
  return low;
}

// What lies at a point of the picture: the lane and the row.
export function laneAt(view: View, y: number): { row: number; lane?: LanePlace; series?: SeriesPlace } | null {
  const row = view.order[firstBelow(view, y)],
    place = view.places[row];
  if (!place || y < place.y) return null;
  const lane = place.lanes.find((lane) => y >= lane.y && y < lane.y + lane.height + 1);
  const series = place.series.find((series) => y >= series.y && y < series.y + series.height);
  return { row, lane, series };
}

// The mark at a point, if any.
export function markAt(model: Model, view: View, x: number, y: number): Mark | undefined {
  if (!view.layers.marks) return undefined;
  return model.marks.find((mark) => {
    const top = view.places[mark.row].y;
    return y >= top - 2 && y <= top + 9 && Math.abs(xOf(view, mark.time) - x) <= 5;
  });
}

export interface Found {
  level: Level;
  entry: number;
  row: number;
  lane: number;
}

// The entry at a point, of the level that is drawn; blocks thinner than the pointer are met 3 pixels around.
export function entryAt(model: Model, view: View, x: number, y: number): Found | null {
  const at = laneAt(view, y);
  if (!at?.lane || at.lane.together.length) return null;
  const level = drawnLevel(model, view);
  const near = 3 / pixels(view),
    time = timeAt(view, x),
    to = level.from[at.lane.lane + 1];
  let best: number | null = null,
    distance = Infinity;
  for (let i = firstAfter(level, at.lane.lane, time - near); i < to && level.start[i] <= time + near; i++) {
    const away = Math.max(level.start[i] - time, time - level.end[i], 0);
    if (away <= distance && visible(model, view, level, i)) ((best = i), (distance = away));
  }
  return best === null ? null : { level, entry: best, row: at.row, lane: at.lane.lane };
}

// What is merged is no longer than a pixel, so that each pixel has its own shares.
export function drawnLevel(model: Model, view: View): Level {
  return levelFor(model.levels, 1 / pixels(view));
}

function visible(model: Model, view: View, level: Level, i: number): boolean {
  for (let p = level.first[i]; p < level.first[i + 1]; p++)
    if (shown(view, model.kinds[level.kind[p]])) return true;
  return false;
}

// The entry of the base level that an entry of a coarser one is, if it is one block; else -1.
export function baseEntry(model: Model, found: Found): number {
  if (found.level === model.base) return found.entry;
  if (blocksIn(found.level, found.entry) > 1) return -1;
  const start = found.level.start[found.entry];
  let i = firstAfter(model.base, found.lane, start);
  while (i > model.base.from[found.lane] && model.base.start[i - 1] >= start) i--; // Of no length.
  while (i < model.base.from[found.lane + 1] && model.base.start[i] < start) i++;
  return i;
}
