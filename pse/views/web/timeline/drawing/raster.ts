// A picture as an array of pixels: a million small pieces a frame are too many for a canvas's own rectangles.

import type { Texture } from "./textures";

export interface Paint {
  fill: number; // as pixels are in memory; NOTHING: what is below stays
  texture: Texture | null;
  ink: number; // of the texture
}

// What blocks are painted on: pixels, or shapes.
export interface Surface {
  readonly width: number;
  readonly height: number;
  // Fills from left to right and from top to bottom (both exclusive); `origin` is where a texture begins.
  fill(left: number, right: number, top: number, bottom: number, paint: Paint, origin: number): void;
  // Mixes a colour into what is there.
  tint(left: number, right: number, top: number, bottom: number, colour: number, share: number): void;
}

export const NOTHING = -1;
const NARROW = 16; // Pixels: such ranges are filled sooner one by one.

export class Raster implements Surface {
  private image: ImageData;
  readonly pixels: Uint32Array;

  constructor(
    readonly width: number,
    readonly height: number,
    private magnify: number, // of textures, as a power of two
  ) {
    this.image = new ImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }

  clear(colour: number): void {
    this.pixels.fill(colour);
  }

  show(pen: CanvasRenderingContext2D): void {
    pen.putImageData(this.image, 0, 0);
  }

  fill(left: number, right: number, top: number, bottom: number, paint: Paint, origin: number): void {
    const from = Math.max(left, 0),
      to = Math.min(right, this.width),
      last = Math.min(bottom, this.height);
    if (from >= to) return;
    if (paint.texture) for (let y = Math.max(top, 0); y < last; y++) this.weave(from, to, y, paint, origin);
    else if (to - from < NARROW) this.dot(from, to, Math.max(top, 0), last, paint.fill);
    else
      for (let y = Math.max(top, 0); y < last; y++)
        this.pixels.fill(paint.fill, y * this.width + from, y * this.width + to);
  }

  private dot(from: number, to: number, top: number, bottom: number, colour: number): void {
    const { pixels, width } = this;
    for (let line = top * width; line < bottom * width; line += width)
      for (let x = from; x < to; x++) pixels[line + x] = colour;
  }

  private weave(from: number, to: number, y: number, { fill, texture, ink }: Paint, origin: number): void {
    const bits = texture![((y - origin) >> this.magnify) & 7],
      line = y * this.width;
    for (let x = from; x < to; x++) {
      if ((bits >> ((x >> this.magnify) & 7)) & 1) this.pixels[line + x] = ink;
      else if (fill !== NOTHING) this.pixels[line + x] = fill;
    }
  }

  tint(left: number, right: number, top: number, bottom: number, colour: number, share: number): void {
    for (let y = Math.max(top, 0); y < Math.min(bottom, this.height); y++) {
      for (let x = Math.max(left, 0); x < Math.min(right, this.width); x++) {
        const at = y * this.width + x;
        this.pixels[at] = mixed(this.pixels[at], colour, share);
      }
    }
  }
}

// A colour as it lies in memory: `#RRGGBB` becomes 0xFFBBGGRR.
export function packed(colour: string): number {
  const value = parseInt(colour.slice(1, 7), 16);
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

export function mixed(below: number, above: number, share: number): number {
  const part = (shift: number) => {
    const a = (below >>> shift) & 0xff,
      b = (above >>> shift) & 0xff;
    return Math.round(a + (b - a) * share) << shift;
  };
  return (0xff000000 | part(16) | part(8) | part(0)) >>> 0;
}
