// The picture as a file: as pixels, or as shapes and words.

import { byId, element } from "../shared/elements";
import { duration, moment } from "../shared/numbers";
import type { Group } from "./data/model";
import { drawOverviewWith, drawRuler } from "./drawing/axis";
import { printOf, shapesOf } from "./drawing/picture";
import { escaped, ShapePen } from "./drawing/shapes";
import { FONT, type Pen, styles } from "./drawing/styles";
import { HATCHES, waitTexture } from "./drawing/textures";
import { accounted } from "./legend";
import { nameOf } from "./rows";
import type { Timeline } from "./timeline";
import { visibleRows } from "./view";

const HEAD = 44, // CSS pixels: what is seen, and of which run
  SWATCH = 12, // of the legend
  LINE = 18;

interface Part {
  id: "overview" | "ruler" | "blocks";
  x: number; // from the chart's corner
  y: number;
  width: number;
  height: number;
}

// The parts of the chart from top to bottom.
function parts(): Part[] {
  const chart = byId("chart").getBoundingClientRect();
  return (["overview", "ruler", "blocks"] as const).map((id) => {
    const { left, top, width, height } = byId(id).getBoundingClientRect();
    return { id, x: left - chart.left, y: top - chart.top, width, height };
  });
}

const sizeOfChart = () => ({ width: byId("chart").clientWidth, height: byId("rows").getBoundingClientRect().bottom - byId("chart").getBoundingClientRect().top });

// Names of rows, from the chart's corner.
function drawNames(pen: Pen, { model, view }: Timeline): void {
  const { top } = byId("rows").getBoundingClientRect(),
    first = top - byId("chart").getBoundingClientRect().top - byId("rows").scrollTop,
    right = byId("gutter").offsetWidth - 8;
  pen.fillStyle = styles().ink;
  pen.font = `11px ${FONT}`;
  pen.textAlign = "right";
  for (const row of visibleRows(view, byId("rows").scrollTop)) {
    const { y, main } = view.places[row];
    if (main >= 9) pen.fillText(view.together.size ? nameOf(model, view.choice, row) : model.rows[row].label, right, first + y + main / 2 + 4);
  }
  pen.textAlign = "left";
}

// Which run, and which part of it.
function drawHead(pen: Pen, { model, view }: Timeline): void {
  const step = (view.end - view.begin) / 1000,
    seen = `${duration(view.end - view.begin)} of ${duration(model.end - model.begin)}, ${moment(view.begin, step, view.end)} to ${moment(view.end, step)}`;
  pen.fillStyle = styles().ink;
  pen.font = `600 14px ${FONT}`;
  pen.fillText(model.title, 8, 17);
  pen.font = `11px ${FONT}`;
  pen.fillText(seen, 8, 34);
}

interface Key {
  group: Group;
  x: number;
  y: number;
}

// What the colours and textures are, of what is in view: where each stands, and how high all are.
function keysOf({ model, view }: Timeline, width: number): { keys: Key[]; height: number } {
  const pen = new ShapePen(),
    { times } = accounted(model, view.begin, view.end),
    keys: Key[] = [];
  pen.font = `11px ${FONT}`;
  let [x, y] = [8, 6];
  for (const group of model.groups) {
    if (view.hidden.has(group.id) || !times.get(group.id)) continue;
    const needed = SWATCH + 5 + pen.measureText(group.name).width;
    if (x > 8 && x + needed > width) [x, y] = [8, y + LINE];
    keys.push({ group, x, y });
    x += needed + 16;
  }
  return { keys, height: keys.length ? y + LINE + 4 : 0 };
}

function drawKey(pen: Pen, { group, x, y }: Key): void {
  const look = styles(),
    wait = group.category === "wait" || group.category === "state",
    texture = wait ? waitTexture(group.id) : HATCHES[group.hatch];
  pen.fillStyle = wait ? look.row : group.colour;
  pen.fillRect(x, y, SWATCH, SWATCH);
  pen.fillStyle = wait ? (group.category === "state" ? look.failed : look.soft) : look.ink;
  for (let line = 0; texture && line < SWATCH; line++)
    for (let dot = 0; dot < SWATCH; dot++) if ((texture[line & 7] >> (dot & 7)) & 1) pen.fillRect(x + dot, y + line, 1, 1);
  pen.fillStyle = look.ink;
  pen.font = `11px ${FONT}`;
  pen.fillText(group.name, x + SWATCH + 5, y + SWATCH - 2);
}

export function pngOf(timeline: Timeline): HTMLCanvasElement {
  const made = element("canvas"),
    { width, height } = sizeOfChart(),
    { keys, height: foot } = keysOf(timeline, width),
    scale = devicePixelRatio || 1,
    pen = made.getContext("2d")!;
  [made.width, made.height] = [width * scale, (HEAD + height + foot) * scale];
  pen.scale(scale, scale);
  pen.fillStyle = styles().paper;
  pen.fillRect(0, 0, width, HEAD + height + foot);
  drawHead(pen, timeline);
  pen.translate(0, HEAD);
  for (const part of parts()) pen.drawImage(byId<HTMLCanvasElement>(part.id), part.x, part.y, part.width, part.height);
  drawNames(pen, timeline);
  pen.translate(0, height);
  for (const key of keys) drawKey(pen, key);
  return made;
}

// The chart as shapes and words; `blocks` gives those.
function chartOf(timeline: Timeline, blocks: typeof shapesOf): string {
  const names = new ShapePen();
  drawNames(names, timeline);
  const drawn = parts().map(
    ({ id, x, y, width, height }) => `<svg x="${x}" y="${y}" width="${width}" height="${height}">${partOf(timeline, id, blocks)}</svg>`,
  );
  return `${drawn.join("")}${names}`;
}

function partOf({ model, view }: Timeline, id: Part["id"], blocks: typeof shapesOf): string {
  if (id === "blocks") return blocks(model, view, byId("rows").scrollTop);
  const pen = new ShapePen();
  if (id === "ruler") drawRuler(view, pen);
  else drawOverviewWith(pen, model, view);
  return String(pen);
}

const svg = (width: number, height: number, inside: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${escaped(FONT)}"><rect width="100%" height="100%" fill="${styles().paper}"/>${inside}</svg>\n`;

// Shapes, and words that can be searched and changed.
export function svgOf(timeline: Timeline): string {
  const { width, height } = sizeOfChart(),
    { keys, height: foot } = keysOf(timeline, width),
    [head, legend] = [new ShapePen(), new ShapePen()];
  drawHead(head, timeline);
  for (const key of keys) drawKey(legend, key);
  const at = (y: number, what: string | ShapePen) => `<g transform="translate(0 ${y})">${what}</g>`;
  return svg(width, HEAD + height + foot, `${head}${at(HEAD, chartOf(timeline, shapesOf))}${at(HEAD + height, legend)}`);
}

// On paper words and lines are shapes, too, and blocks are fine.
function showOnPaper(timeline: Timeline, paper: boolean): void {
  timeline.drawOn(paper);
  const { width, height } = sizeOfChart();
  byId("paper").innerHTML = paper ? svg(width, height, chartOf(timeline, printOf)) : "";
}

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
  for (const when of ["beforeprint", "afterprint"]) addEventListener(when, () => showOnPaper(timeline, when === "beforeprint"));
}

function download(content: Blob, suffix: string): void {
  const link = element("a", undefined, { download: `${document.title.replace(/[^\w.-]+/g, "-")}.${suffix}`, href: URL.createObjectURL(content) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
