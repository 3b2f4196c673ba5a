// A picture as SVG: what is drawn with a pen, and what is filled as pixels elsewhere, as shapes and text.

import { NOTHING, type Paint, type Surface } from "./raster";
import type { Pen } from "./styles";
import type { Texture } from "./textures";

const SIDE = 8; // pixels of a texture

interface Rectangle {
  left: number;
  right: number;
  top: number;
  bottom: number;
  look: string; // attributes
}

// What is filled, as rectangles; those of one look that touch are one.
export class Shapes implements Surface {
  private found: Rectangle[] = [];
  private open = new Map<string, Rectangle>(); // the last one of each look and height: the next may touch it
  private patterns = new Map<string, string>(); // their elements, by id

  constructor(
    readonly width: number,
    readonly height: number,
    private scale: number, // its pixels in a CSS pixel
  ) {}

  fill(left: number, right: number, top: number, bottom: number, { fill, texture, ink }: Paint): void {
    if (fill !== NOTHING) this.add(left, right, top, bottom, `fill="${css(fill)}"`);
    if (texture) this.add(left, right, top, bottom, `fill="url(#${this.pattern(texture, css(ink))})"`);
  }

  tint(left: number, right: number, top: number, bottom: number, colour: number, share: number): void {
    this.add(left, right, top, bottom, `fill="${css(colour)}" fill-opacity="${short(share)}"`);
  }

  private add(left: number, right: number, top: number, bottom: number, look: string): void {
    [left, right] = [Math.max(left, 0), Math.min(right, this.width)];
    [top, bottom] = [Math.max(top, 0), Math.min(bottom, this.height)];
    if (left >= right || top >= bottom) return;
    const key = `${look} ${top} ${bottom}`,
      last = this.open.get(key);
    if (last?.right === left) last.right = right;
    else {
      const made = { left, right, top, bottom, look };
      this.found.push(made);
      this.open.set(key, made);
    }
  }

  private pattern(texture: Texture, ink: string): string {
    const id = `t${[...texture].map((line) => line.toString(16).padStart(2, "0")).join("")}${ink.slice(1)}`;
    if (!this.patterns.has(id)) this.patterns.set(id, patternOf(id, texture, ink, this.scale));
    return id;
  }

  toString(): string {
    const paths: string[] = [];
    let before = "",
      path = "";
    const end = () => path && paths.push(`<path ${before} d="${path}"/>`);
    for (const { left, right, top, bottom, look } of this.found) {
      if (look !== before) (end(), ([before, path] = [look, ""]));
      path += `M${left} ${top}H${right}V${bottom}H${left}z`;
    }
    end();
    const defined = this.patterns.size ? `<defs>${[...this.patterns.values()].join("")}</defs>` : "";
    return `${defined}<g transform="scale(${1 / this.scale})" shape-rendering="crispEdges">${paths.join("")}</g>`;
  }
}

function patternOf(id: string, texture: Texture, ink: string, scale: number): string {
  let dots = "";
  for (let y = 0; y < SIDE; y++)
    for (let x = 0; x < SIDE; x++) if ((texture[y] >> x) & 1) dots += `M${x} ${y}h1v1h-1z`;
  return `<pattern id="${id}" width="${SIDE}" height="${SIDE}" patternUnits="userSpaceOnUse" patternTransform="scale(${scale})"><path fill="${ink}" d="${dots}"/></pattern>`;
}

// A colour as it lies in memory (`packed`), as a style sheet has it.
function css(colour: number): string {
  const part = (shift: number) => ((colour >>> shift) & 0xff).toString(16).padStart(2, "0");
  return `#${part(0)}${part(8)}${part(16)}`;
}

const ruler = () => document.createElement("canvas").getContext("2d")!;

// A pen that writes SVG.
export class ShapePen implements Pen {
  fillStyle = "#000000";
  strokeStyle = "#000000";
  lineWidth = 1;
  globalAlpha = 1;
  font = "11px sans-serif";
  textAlign: CanvasTextAlign = "left";
  textBaseline: CanvasTextBaseline = "alphabetic";
  private parts: string[] = [];
  private path = "";
  private dashes = "";
  private down = 0;
  private texts = ruler();

  translate(_: number, y: number): void {
    this.down += y;
  }

  setLineDash(dashes: number[]): void {
    this.dashes = dashes.join(" ");
  }

  beginPath(): void {
    this.path = "";
  }

  moveTo(x: number, y: number): void {
    this.step("M", x, y);
  }

  lineTo(x: number, y: number): void {
    this.step(this.path ? "L" : "M", x, y);
  }

  // A whole circle.
  arc(x: number, y: number, radius: number): void {
    this.step("M", x - radius, y);
    if (Number.isFinite(x + y)) this.path += `a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`;
  }

  stroke(): void {
    this.write(this.path, "none", this.strokeStyle);
  }

  fill(): void {
    this.write(this.path, this.fillStyle, "");
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.write(this.rectangle(x, y, width, height), this.fillStyle, "");
  }

  strokeRect(x: number, y: number, width: number, height: number): void {
    this.write(this.rectangle(x, y, width, height), "none", this.strokeStyle);
  }

  measureText(text: string): TextMetrics {
    this.texts.font = this.font;
    return this.texts.measureText(text);
  }

  fillText(text: string, x: number, y: number): void {
    const size = Number(/([\d.]+)px/.exec(this.font)?.[1] ?? 11),
      base = y + this.down + (this.textBaseline === "middle" ? 0.35 * size : 0),
      bold = this.font.startsWith("600") ? ' font-weight="600"' : "",
      anchor = this.textAlign === "right" ? ' text-anchor="end"' : "";
    if (Number.isFinite(x + base))
      this.parts.push(`<text x="${short(x)}" y="${short(base)}" font-size="${size}" fill="${this.fillStyle}"${bold}${anchor}>${escaped(text)}</text>`);
  }

  toString(): string {
    return this.parts.join("");
  }

  private step(letter: string, x: number, y: number): void {
    if (Number.isFinite(x + y)) this.path += `${letter}${short(x)} ${short(y + this.down)}`;
  }

  private rectangle(x: number, y: number, width: number, height: number): string {
    if (!Number.isFinite(x + y + width + height)) return "";
    return `M${short(x)} ${short(y + this.down)}h${short(width)}v${short(height)}h${short(-width)}z`;
  }

  private write(path: string, fill: string, stroke: string): void {
    if (!path) return;
    const line = stroke ? ` stroke="${stroke}" stroke-width="${this.lineWidth}"` : "",
      dashes = stroke && this.dashes ? ` stroke-dasharray="${this.dashes}"` : "",
      faint = this.globalAlpha < 1 ? ` ${stroke ? "stroke" : "fill"}-opacity="${short(this.globalAlpha)}"` : "";
    this.parts.push(`<path d="${path}" fill="${fill}"${line}${dashes}${faint}/>`);
  }
}

const short = (value: number) => String(Math.round(100 * value) / 100);

export const escaped = (text: string) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
