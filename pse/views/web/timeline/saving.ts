// The picture as a file: pixels of what is drawn, with names and times as text.

import { byId, element } from "../shared/elements";
import { duration, moment } from "../shared/numbers";
import { FONT, styles } from "./drawing/styles";
import { nameOf } from "./rows";
import type { Timeline } from "./timeline";
import { visibleRows } from "./view";

const HEAD = 44; // CSS pixels: what is seen, and of which run

interface Text {
  x: number;
  y: number;
  text: string;
  size: number;
  bold?: boolean;
  end?: boolean; // it ends there
}

// The parts of the picture from top to bottom: canvases, and where they are.
function canvases(): { canvas: HTMLCanvasElement; x: number; y: number; width: number; height: number }[] {
  const chart = byId("chart").getBoundingClientRect();
  return (["overview", "ruler", "blocks"] as const).map((id) => {
    const canvas = byId<HTMLCanvasElement>(id),
      { left, top, width, height } = canvas.getBoundingClientRect();
    return { canvas, x: left - chart.left, y: top - chart.top + HEAD, width, height };
  });
}

function texts({ model, view }: Timeline): Text[] {
  const step = (view.end - view.begin) / 1000,
    gutter = byId("gutter").offsetWidth,
    top = HEAD + byId("rows").getBoundingClientRect().top - byId("chart").getBoundingClientRect().top,
    scroll = byId("rows").scrollTop;
  const seen = `${duration(view.end - view.begin)} of ${duration(model.end - model.begin)}, ${moment(view.begin, step, view.end)} to ${moment(view.end, step)}`;
  const names = visibleRows(view, scroll)
    .filter((row) => view.places[row].main >= 9)
    .map((row) => ({
      x: gutter - 8,
      y: top + view.places[row].y - scroll + view.places[row].main / 2 + 4,
      text: view.together.size ? nameOf(model, view.choice, row) : model.rows[row].label,
      size: 11,
      end: true,
    }));
  return [{ x: 8, y: 17, text: model.title, size: 14, bold: true }, { x: 8, y: 34, text: seen, size: 11 }, ...names];
}

const size = () => ({ width: byId("chart").clientWidth, height: byId("rows").getBoundingClientRect().bottom - byId("chart").getBoundingClientRect().top + HEAD });

export function pngOf(timeline: Timeline): HTMLCanvasElement {
  const made = element("canvas"),
    { width, height } = size(),
    scale = devicePixelRatio || 1,
    pen = made.getContext("2d")!,
    look = styles();
  [made.width, made.height] = [width * scale, height * scale];
  pen.scale(scale, scale);
  pen.fillStyle = look.paper;
  pen.fillRect(0, 0, width, height);
  for (const part of canvases()) pen.drawImage(part.canvas, part.x, part.y, part.width, part.height);
  pen.fillStyle = look.ink;
  for (const { x, y, text, size, bold, end } of texts(timeline)) {
    pen.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
    pen.textAlign = end ? "right" : "left";
    pen.fillText(text, x, y);
  }
  return made;
}

// Blocks as pixels, the rest as text that can be searched and changed.
export function svgOf(timeline: Timeline): string {
  const { width, height } = size(),
    look = styles(),
    images = canvases().map(
      ({ canvas, x, y, width, height }) =>
        `<image x="${x}" y="${y}" width="${width}" height="${height}" href="${canvas.toDataURL()}"/>`,
    ),
    words = texts(timeline).map(
      ({ x, y, text, size, bold, end }) =>
        `<text x="${x}" y="${y}" font-size="${size}"${bold ? ' font-weight="600"' : ""}${end ? ' text-anchor="end"' : ""}>${escaped(text)}</text>`,
    );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${escaped(FONT)}" fill="${look.ink}"><rect width="100%" height="100%" fill="${look.paper}"/>${images.join("")}${words.join("")}</svg>\n`;
}

const escaped = (text: string) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

// A PDF is what the browser prints.
export function listenForSaving(timeline: Timeline): void {
  const choice = byId<HTMLSelectElement>("save");
  choice.onchange = () => {
    const form = choice.value;
    choice.value = "";
    if (form === "png") pngOf(timeline).toBlob((blob) => blob && download(blob, "png"));
    if (form === "svg") download(new Blob([svgOf(timeline)], { type: "image/svg+xml" }), "svg");
    if (form === "pdf") print();
  };
  for (const when of ["beforeprint", "afterprint"]) addEventListener(when, () => timeline.drawOn(when === "beforeprint"));
}

function download(content: Blob, suffix: string): void {
  const link = element("a", undefined, { download: `${document.title.replace(/[^\w.-]+/g, "-")}.${suffix}`, href: URL.createObjectURL(content) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
