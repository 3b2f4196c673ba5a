// Pictures of frames: a curve, an image, a volume or points.

import { element } from "../shared/elements";
import { colourOf, GRADIENT, placesOf, TABLE } from "./colours";
import { range, valuesOf, type Frame } from "../shared/frame";
import type { Space } from "../space/main";

export interface Picture {
  holder: HTMLElement;
  show(frame: Frame): void;
  close(): void;
}

// Opens what draws in three dimensions; it is loaded when it is needed first.
export type OpenSpace = (holder: HTMLElement, colours: Uint8Array) => Promise<Space>;

export const WIDTH = 320;
const HEIGHT = 120,
  LONGEST_HISTORY = 400,
  SVG = "http://www.w3.org/2000/svg";

export function pictureOf(frame: Frame, openSpace: OpenSpace): Picture {
  if (frame.points) return new Points(openSpace);
  return frame.cells.length === 3 ? new Volume(openSpace) : frame.cells.length === 2 ? new Image() : new Curve();
}

// The values of a line; of a number those that it had.
class Curve implements Picture {
  readonly holder = element("div");
  private readonly picture = document.createElementNS(SVG, "svg");
  private readonly line = document.createElementNS(SVG, "path");
  private history: number[] = [];

  constructor() {
    for (const [name, value] of Object.entries({ width: WIDTH, height: HEIGHT, role: "img" }))
      this.picture.setAttribute(name, String(value));
    for (const [name, value] of Object.entries({ fill: "none", stroke: "currentColor", "stroke-width": "1.5", "stroke-linecap": "round" }))
      this.line.setAttribute(name, value);
    this.picture.append(this.line);
    this.holder.append(this.picture);
  }

  show(frame: Frame): void {
    const values = valuesOf(frame);
    this.picture.setAttribute("aria-label", `Values of ${frame.title}`);
    if (frame.cells.length === 0) this.history = [...this.history, ...values].slice(-LONGEST_HISTORY);
    this.line.setAttribute("d", lineThrough(frame.cells.length ? [...values] : this.history));
  }

  close(): void {}
}

// What is no finite number is a gap, what stands alone between two a dot.
function lineThrough(values: number[]): string {
  const known = values.filter(Number.isFinite),
    low = known.reduce((least, value) => Math.min(least, value), Infinity),
    high = known.reduce((most, value) => Math.max(most, value), -Infinity),
    up = (HEIGHT - 4) / (high - low || 1),
    across = WIDTH / Math.max(values.length - 1, 1);
  return values
    .map((value, index) => {
      if (!Number.isFinite(value)) return "";
      const place = `${(index * across).toFixed(1)},${(HEIGHT - 2 - (value - low) * up).toFixed(1)}`;
      return Number.isFinite(values[index - 1]) ? `L${place}` : `M${place}h0`;
    })
    .join("");
}

// Rows and columns in colours.
class Image implements Picture {
  readonly holder = element("div");
  private readonly canvas = element("canvas");
  private readonly bar = new Bar();

  constructor() {
    this.canvas.style.cssText = `display: block; width: ${WIDTH}px; image-rendering: pixelated`;
    this.holder.append(this.canvas, this.bar.holder);
  }

  show(frame: Frame): void {
    this.bar.show(frame);
    const [rows, columns] = frame.cells;
    this.draw(valuesOf(frame), rows, columns, frame);
  }

  draw(values: Float32Array, rows: number, columns: number, { low, high }: Frame): void {
    Object.assign(this.canvas, { width: columns, height: rows });
    this.canvas.style.aspectRatio = `${columns} / ${rows}`;
    const pen = this.canvas.getContext("2d");
    if (!pen || rows * columns === 0) return;
    const pixels = pen.createImageData(columns, rows);
    placesOf(values, low, high).forEach((place, index) => {
      if (Number.isFinite(values[index])) pixels.data.set(colourOf(place), 4 * index);
    });
    pen.putImageData(pixels, 0, 0);
  }

  close(): void {}
}

// Which colours stand for which values.
class Bar {
  readonly holder = element("div");
  private readonly ends = [element("span"), element("span")];

  constructor() {
    this.holder.style.cssText =
      `display: flex; justify-content: space-between; width: ${WIDTH}px; box-sizing: border-box; margin-top: 4px; ` +
      `padding: 0 4px; border-radius: 3px; font-size: 11px; color: #fff; text-shadow: 0 0 2px #000, 0 0 2px #000; ` +
      `background: ${GRADIENT}`;
    this.holder.append(...this.ends);
  }

  show(frame: Frame): void {
    range(frame).forEach((text, index) => (this.ends[index].textContent = text));
  }
}

// A place where something has three dimensions; what it shows before that is there is shown then.
class Stage {
  readonly holder = element("div");
  private space: Space | null = null;
  private waiting: ((space: Space) => void) | null = null;
  private asked = false;

  constructor(private readonly openSpace: OpenSpace) {
    this.holder.style.cssText = `width: ${WIDTH}px; height: ${WIDTH}px; touch-action: none`;
  }

  show(draw: (space: Space) => void): void {
    if (this.space) return draw(this.space);
    this.waiting = draw;
    if (this.asked) return;
    this.asked = true;
    this.openSpace(this.holder, TABLE).then(
      (space) => {
        this.space = space;
        this.waiting?.(space);
      },
      (error: unknown) => {
        this.holder.textContent = `This browser can't draw three dimensions: ${String(error)}`;
      },
    );
  }

  close(): void {
    this.waiting = null;
    this.space?.close();
  }
}

// Rows as points in space; the last column is their colour.
class Points implements Picture {
  readonly holder = element("div");
  private readonly stage: Stage;
  private readonly bar = new Bar();

  constructor(openSpace: OpenSpace) {
    this.stage = new Stage(openSpace);
    this.holder.append(this.stage.holder, this.bar.holder);
  }

  show(frame: Frame): void {
    this.bar.show(frame);
    const values = valuesOf(frame),
      [rows, columns] = frame.cells,
      last = Float32Array.from({ length: rows }, (_, row) => values[columns * row + columns - 1]);
    this.stage.show((space) => space.showPoints(values, columns, placesOf(last, frame.low, frame.high)));
  }

  close(): void {
    this.stage.close();
  }
}

const WAYS = ["slice", "surface", "volume"] as const;
const AXES = [0, 1, 2];

// Three axes: a slice across one of them, the surface of one value, or all of it with the greatest value along the sight.
class Volume implements Picture {
  readonly holder = element("div");
  private readonly slice = new Image();
  private readonly stage: Stage;
  private readonly bar = new Bar();
  private readonly way = choice("Shown as", WAYS.map(String));
  private readonly axis = choice(
    "Across axis",
    AXES.map((axis) => `axis ${axis}`),
  );
  private readonly place = slider("Place of the slice, or value of the surface");
  private frame: Frame | null = null;

  constructor(openSpace: OpenSpace) {
    this.stage = new Stage(openSpace);
    const tools = element("div");
    tools.style.cssText = `display: flex; gap: 6px; margin-bottom: 4px; width: ${WIDTH}px`;
    tools.append(this.way, this.axis, this.place);
    for (const event of ["input", "change"]) tools.addEventListener(event, () => this.redraw());
    this.slice.holder.lastElementChild?.remove(); // One bar of colours is below all.
    this.holder.append(tools, this.slice.holder, this.stage.holder, this.bar.holder);
  }

  show(frame: Frame): void {
    this.frame = frame;
    this.bar.show(frame);
    this.redraw();
  }

  private redraw(): void {
    const { frame } = this,
      way = WAYS[this.way.selectedIndex];
    if (!frame) return;
    this.axis.hidden = way !== "slice";
    this.place.hidden = way === "volume";
    this.slice.holder.hidden = way !== "slice";
    this.stage.holder.hidden = way === "slice";
    if (way === "slice") return this.showSlice(frame);
    const places = placesOf(valuesOf(frame), frame.low, frame.high),
      level = way === "surface" ? Number(this.place.value) : null;
    this.stage.show((space) => space.showVolume(places, frame.cells, level));
  }

  private showSlice(frame: Frame): void {
    const axis = this.axis.selectedIndex,
      [across, down] = AXES.filter((one) => one !== axis).reverse(),
      index = Math.min(Math.floor(Number(this.place.value) * frame.cells[axis]), frame.cells[axis] - 1),
      strides = [frame.cells[1] * frame.cells[2], frame.cells[2], 1],
      [rows, columns] = [frame.cells[down], frame.cells[across]],
      all = valuesOf(frame);
    const values = Float32Array.from(
      { length: rows * columns },
      (_, cell) =>
        all[index * strides[axis] + Math.floor(cell / columns) * strides[down] + (cell % columns) * strides[across]],
    );
    this.slice.draw(values, rows, columns, frame);
  }

  close(): void {
    this.stage.close();
  }
}

function choice(label: string, texts: string[]): HTMLSelectElement {
  const made = element("select", undefined, { "aria-label": label });
  made.append(...texts.map((text) => element("option", text)));
  return made;
}

function slider(label: string): HTMLInputElement {
  const made = element("input", undefined, { type: "range", min: 0, max: 1, step: 0.005, "aria-label": label });
  made.value = "0.5";
  made.style.cssText = "flex: 1; min-width: 0";
  return made;
}
