// Where the boxes of a large graph lie: in rows, in the order of the text, and at once.
//
// ELK takes many seconds for a thousand boxes, and makes a layer as wide as there are calls beside each other.  Here
// the statements of a frame are cut, in their order, into bands no wider than a limit; in a band, a box lies below
// those that it reads from.

import { type Box, HEAD, type Layout, type Line, PADDING, type Place, sizeOf } from "./boxes";

const BESIDE = 26;
const BELOW = 56;
const BETWEEN_BANDS = 84;
const RATIO = 1.6; // of the width of what is in a frame to its height, about
const MOST_ROWS = 12; // of a band

/** For each box, those before it in its frame that it, or what is in it, reads from. */
type Sources = Map<string, string[]>;

interface Row {
  boxes: Box[];
  width: number;
}

export function inRows(boxes: Box[], lines: Line[]): Layout {
  const inside = Map.groupBy(boxes, (box) => box.parent);
  const sources = sourcesOf(boxes, lines);
  const places = new Map<string, Place>();
  const settle = (parent: string | null) => {
    const siblings = inside.get(parent) ?? [];
    for (const box of siblings) {
      if (box.frame) settle(box.id);
      places.set(box.id, { x: 0, y: 0, ...sizeOf(box, inside.get(box.id) ?? [], places) });
    }
    const left = parent === null ? 0 : PADDING;
    let top = parent === null ? 0 : HEAD + PADDING;
    for (const band of bandsOf(siblings, sources, places)) top = placeBand(band, sources, places, left, top) + BETWEEN_BANDS;
  };
  settle(null);
  return { places, routes: new Map() };
}

function sourcesOf(boxes: Box[], lines: Line[]): Sources {
  const parents = new Map(boxes.map((box) => [box.id, box.parent]));
  const order = new Map(boxes.map((box, number) => [box.id, number]));
  const sources: Sources = new Map(boxes.map((box) => [box.id, []]));
  for (const line of lines) {
    const around = new Map(upward(line.from, parents).map((id) => [parents.get(id), id]));
    const reader = upward(line.to, parents).find((id) => around.has(parents.get(id)));
    const source = reader && around.get(parents.get(reader));
    if (source && order.get(source)! < order.get(reader)!) sources.get(reader)!.push(source);
  }
  return sources;
}

/** A box and the frames around it, from inside. */
function upward(id: string, parents: Map<string, string | null>): string[] {
  const found = [];
  for (let at: string | null | undefined = id; at; at = parents.get(at)) found.push(at);
  return found;
}

function bandsOf(siblings: Box[], sources: Sources, places: Map<string, Place>): Row[][] {
  const limit = widthLimit(siblings, places);
  const bands: Row[][] = [];
  let rows = new Map<string, number>(); // of the last band
  for (const box of siblings) {
    const width = places.get(box.id)!.width + BESIDE;
    let number = Math.max(0, ...sources.get(box.id)!.map((id) => (rows.get(id) ?? -1) + 1));
    const full = (bands.at(-1)?.[number]?.width ?? 0) + width > limit;
    if (!bands.length || full || number >= MOST_ROWS) {
      bands.push([]);
      rows = new Map();
      number = 0;
    }
    const row = (bands.at(-1)![number] ??= { boxes: [], width: 0 });
    row.boxes.push(box);
    row.width += width;
    rows.set(box.id, number);
  }
  return bands;
}

function widthLimit(siblings: Box[], places: Map<string, Place>): number {
  const sizes = siblings.map((box) => places.get(box.id)!);
  const area = sizes.reduce((sum, { width, height }) => sum + (width + BESIDE) * (height + BELOW), 0);
  return Math.max(Math.sqrt(RATIO * area), ...sizes.map(({ width }) => width + BESIDE));
}

/** Put the boxes of a band in their places, each below its sources where there is room; gives the band's bottom. */
function placeBand(band: Row[], sources: Sources, places: Map<string, Place>, left: number, top: number): number {
  let bottom = top - BELOW;
  for (const row of band) {
    const y = bottom + BELOW;
    let free = left;
    for (const box of row.boxes) {
      const place = places.get(box.id)!;
      const inBand = sources.get(box.id)!.map((id) => places.get(id)!).filter((source) => source.y >= top);
      const wanted = inBand.reduce((sum, source) => sum + source.x + source.width / 2, 0) / inBand.length - place.width / 2;
      place.x = inBand.length ? Math.max(free, Math.round(wanted)) : free;
      place.y = y;
      free = place.x + place.width + BESIDE;
      bottom = Math.max(bottom, y + place.height);
    }
  }
  return bottom;
}
