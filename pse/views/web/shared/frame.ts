// What a run tells of a watched tag at one pause (pse.views.frames).

export interface Frame {
  tag: string;
  title: string; // of complex numbers the tag between bars: absolute values are shown
  error?: string; // instead of all that follows
  shape: number[];
  block: number[];
  pause: number;
  place: string;
  points: boolean; // each row is a point in space
  cells: number[]; // none: a number; one: a line; two: an image; three: a volume
  low: number | null;
  high: number | null;
  unknown: number; // how many cells are no finite number
  data: string; // 32-bit numbers in base64
}

export function valuesOf(frame: Frame): Float32Array<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(frame.data), (sign) => sign.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

const number = (value: number | null) => (value === null ? "–" : String(Number(value.toPrecision(4))));

export function range({ low, high }: Frame): [low: string, high: string] {
  return [number(low), number(high)];
}

export function caption(frame: Frame): string {
  const { title, shape, cells, place, block, points, unknown } = frame;
  const size = shape.length ? `[${shape.join(", ")}]` : "";
  const [low, high] = range(frame);
  const seen = points && block[0] > 1 ? `1 row of ${block[0]}, ` : "";
  if (!cells.length) return `${title}: ${unknown ? valuesOf(frame)[0] : low} · ${place}`;
  const missing = unknown ? `, ${unknown} of ${cells.reduce((count, extent) => count * extent, 1)} no finite number` : "";
  return `${title}${size}: ${seen}${low} to ${high}${missing} · ${place}`;
}
