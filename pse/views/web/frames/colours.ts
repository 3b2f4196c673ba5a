// From dark to light, to be told apart by everybody (after cividis).

const STOPS = [
  [0, 34, 78],
  [66, 78, 108],
  [124, 123, 120],
  [187, 175, 113],
  [254, 232, 56],
];
export const GRADIENT = `linear-gradient(to right, ${STOPS.map((stop) => `rgb(${stop.join(" ")})`).join(", ")})`;

// 256 colours as red, green, blue, alpha.
export const TABLE = new Uint8Array(
  Array.from({ length: 256 }, (_, index) => {
    const place = (index / 255) * (STOPS.length - 1),
      first = Math.min(Math.floor(place), STOPS.length - 2);
    return [...STOPS[first].map((from, part) => from + (STOPS[first + 1][part] - from) * (place - first)), 255];
  }).flat(),
);

// Numbers as places in the table; what is no number gets none.
export function placesOf(values: Float32Array, low: number | null, high: number | null): Uint8Array<ArrayBuffer> {
  const from = low ?? 0,
    scale = 255 / ((high ?? 0) - from || 1);
  return Uint8Array.from(values, (value) => Math.min(Math.max((value - from) * scale, 0), 255));
}

export const colourOf = (place: number) => TABLE.subarray(4 * place, 4 * place + 4);
