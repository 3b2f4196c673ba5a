// Lanes of blocks as pixels: of each pixel every colour has the height of its share of the pixel's time.

import type { Level } from "../data/levels";
import { wakesLate, type Group, type Model } from "../data/model";
import { mixed, NOTHING, type Paint, packed, type Surface } from "./raster";
import type { Styles } from "./styles";
import { ASLEEP, HATCHES, PREEMPTED, waitTexture } from "./textures";
import type { LanePlace, View } from "../view";

// How each group of the legend is painted; null: it is hidden.
export interface Palette {
  groups: (Paint | null)[];
  waits: boolean[];
  preempted: Paint;
  asleep: Paint; // of a rank that has what it waited for, and isn't awake yet
  paper: number;
  row: number;
  soft: number;
}

const FADED = 0.22;

const isWait = ({ category }: Group) => category === "wait" || category === "state";

export function paletteOf(model: Model, view: View, look: Styles, faded: boolean): Palette {
  const row = packed(look.row),
    share = faded ? FADED : 1,
    ink = mixed(row, packed(look.soft), 0.55),
    state = packed(look.failed);
  const groups = model.groups.map((group): Paint | null => {
    if (view.hidden.has(group.id)) return null;
    const wait = isWait(group),
      colour = packed(group.colour);
    return {
      fill: wait ? NOTHING : mixed(row, colour, share),
      texture: wait ? waitTexture(group.id) : HATCHES[group.hatch],
      ink: mixed(row, wait ? (group.category === "state" ? state : ink) : mixed(colour, 0xff000000, 0.6), share),
    };
  });
  return {
    groups,
    waits: model.groups.map(isWait),
    preempted: { fill: NOTHING, texture: PREEMPTED, ink: packed(look.paper) },
    asleep: { fill: NOTHING, texture: ASLEEP, ink: mixed(row, packed(look.failed), share) },
    paper: packed(look.paper),
    row,
    soft: packed(look.soft),
  };
}

// A single block that has room for its name.
export interface Label {
  kind: number;
  left: number; // CSS pixels
  right: number;
  lane: LanePlace;
}

const LABEL_WIDTH = 30,
  LABEL_HEIGHT = 10,
  APART = 4; // CSS pixels: narrower blocks aren't parted from the next one.

// Paints entries of one lane, in the order of time.
export class LanePainter {
  readonly labels: Label[] = [];
  private lane!: LanePlace;
  private top = 0;
  private bottom = 0;
  private column = -1; // the pixel that `amounts` are of
  private amounts: Float64Array; // of each group, ns
  private touched: number[] = [];
  private order: Uint32Array; // of groups in a pixel: calls, then waits
  private blocks = 0;
  private entries = 0;
  private wide = false; // what was collected is the edge of an entry that is longer than a pixel

  constructor(
    private surface: Surface,
    private model: Model,
    private palette: Palette,
    private begin: number,
    private scale: number, // pixels of the surface in a ns
    private ratio: number, // and in a CSS pixel
    private scroll: number,
  ) {
    this.amounts = new Float64Array(model.groups.length);
    this.order = Uint32Array.from(palette.waits, (wait, group) => group + (wait ? palette.waits.length : 0));
  }

  turnTo(lane: LanePlace): void {
    this.lane = lane;
    this.top = Math.round((lane.y - this.scroll) * this.ratio);
    this.bottom = Math.max(this.top + 1, Math.round((lane.y + lane.height - this.scroll) * this.ratio));
  }

  add(level: Level, i: number): void {
    const x0 = (level.start[i] - this.begin) * this.scale,
      x1 = (level.end[i] - this.begin) * this.scale,
      left = Math.max(x0, 0),
      right = Math.min(x1, this.surface.width);
    const first = Math.floor(left),
      last = Math.floor(right);
    if (first === last) return this.collect(level, i, first, x1 > x0 ? (right - left) / (x1 - x0) : 1, false);
    const per = 1 / (x1 - x0),
      whole = left === first ? first : first + 1;
    if (whole > first) this.collect(level, i, first, (whole - left) * per, true);
    if (last > whole) this.span(level, i, whole, last, per);
    if (right > last) this.collect(level, i, last, (right - last) * per, true);
  }

  // A part of an entry, in one pixel.
  private collect(level: Level, i: number, column: number, share: number, wide: boolean): void {
    if (column !== this.column) {
      this.finish();
      this.column = column;
    }
    this.entries++;
    this.wide = wide;
    const { amounts, touched } = this,
      { groupOf } = this.model,
      last = level.first[i + 1];
    let blocks = 0;
    for (let p = level.first[i]; p < last; p++) {
      const group = groupOf[level.kind[p]];
      if (!touched.includes(group)) touched.push(group);
      amounts[group] += share * level.time[p];
      blocks += level.count[p];
    }
    this.blocks += blocks;
  }

  // Whole pixels of an entry, which all look the same.
  private span(level: Level, i: number, from: number, to: number, per: number): void {
    this.finish();
    const piece = level.first[i];
    if (level.first[i + 1] - piece > 1 || level.count[piece] > 1) {
      this.collect(level, i, from, per, false);
      this.finish(to);
      return;
    }
    const paint = this.palette.groups[this.model.groupOf[level.kind[piece]]];
    if (!paint) return;
    this.surface.fill(from, to, this.top, this.bottom, paint, this.top);
    this.preempt(level, i, from, to);
    const width = (to - from) / this.ratio;
    const wait = this.palette.waits[this.model.groupOf[level.kind[piece]]];
    if (wait) return this.sleep(level, i, from, to);
    const after = level.start[i + 1] - level.end[i];
    if (width >= APART && after >= 0 && after * this.scale < 1) this.part(to);
    if (width > LABEL_WIDTH && this.lane.height >= LABEL_HEIGHT)
      this.labels.push({
        kind: level.kind[piece],
        left: from / this.ratio,
        right: to / this.ratio,
        lane: this.lane,
      });
  }

  // The part of a call in which its rank was ready to run without a core: from the top, as high as its share.
  private preempt(level: Level, i: number, from: number, to: number): void {
    const lost = level === this.model.base ? this.model.preempted[i] : 0;
    if (!lost) return;
    const share = Math.min(1, lost / (level.end[i] - level.start[i]));
    const bottom = this.top + Math.round(share * (this.bottom - this.top));
    this.surface.fill(from, to, this.top, bottom, this.palette.preempted, this.top);
  }

  // The end of a wait: another rank has done what ends it, and this one isn't awake yet.
  private sleep(level: Level, i: number, from: number, to: number): void {
    if (level !== this.model.base || !wakesLate(this.model, i)) return;
    const left = Math.round((level.end[i] - this.model.woken[i] - this.begin) * this.scale);
    const bare = { fill: this.palette.row, texture: null, ink: 0 };
    for (const paint of [bare, this.palette.asleep])
      this.surface.fill(Math.max(left, from), to, this.top, this.bottom, paint, this.top);
  }

  // Blocks that touch are told apart.
  private part(right: number): void {
    const paper = { fill: this.palette.paper, texture: null, ink: 0 };
    this.surface.fill(right - Math.round(this.ratio), right, this.top, this.bottom, paper, 0);
  }

  // A pixel of several lanes that are drawn as one: how much of each group they have in it together.
  mean(column: number, amounts: Float64Array, lanes: number): void {
    amounts.forEach((amount, group) => {
      if (!amount) return;
      this.touched.push(group);
      this.amounts[group] = amount / lanes;
    });
    if (!this.touched.length) return;
    this.column = column;
    this.blocks = lanes;
    this.finish();
  }

  // Paints what was collected: calls from the bottom, waits above them; a call is a pixel high at least.
  finish(to = this.column + 1): void {
    if (this.column < 0) return;
    const { groups, waits } = this.palette,
      height = (this.bottom - this.top) * this.scale;
    if (this.touched.length > 1) this.touched.sort((a, b) => this.order[a] - this.order[b]);
    if (this.entries === 1 && this.wide && this.touched.length === 1) this.blend();
    let edge = this.bottom,
      sum = 0,
      any = false;
    for (const group of this.touched) {
      const paint = groups[group];
      sum += this.amounts[group];
      this.amounts[group] = 0;
      if (!paint) continue;
      const next = Math.min(Math.round(this.bottom - sum * height), waits[group] ? edge : edge - 1);
      this.surface.fill(this.column, to, Math.max(next, this.top), edge, paint, this.top);
      edge = Math.max(next, this.top);
      any = true;
    }
    if (any && this.blocks > 1 && this.lane.height >= 9) this.underline(to);
    this.touched.length = this.blocks = this.entries = 0;
    this.column = -1;
  }

  // Where nothing else is, the edge of a block is as strong as its share instead of as high.
  private blend(): void {
    const [group] = this.touched,
      paint = this.palette.groups[group],
      share = Math.min(1, this.amounts[group] * this.scale);
    if (paint && paint.fill !== NOTHING)
      this.surface.tint(this.column, this.column + 1, this.top, this.bottom, paint.fill, share);
    else if (paint && share >= 0.5)
      this.surface.fill(this.column, this.column + 1, this.top, this.bottom, paint, this.top);
    this.amounts[group] = this.touched.length = 0;
  }

  // What is drawn together has a line below.
  private underline(to: number): void {
    const soft = { fill: this.palette.soft, texture: null, ink: 0 },
      high = Math.round(this.ratio);
    this.surface.fill(this.column, to, this.bottom, this.bottom + high, soft, 0);
  }
}
