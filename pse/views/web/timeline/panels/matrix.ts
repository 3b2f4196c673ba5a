// The message matrix: who sent how much to whom in the window, and in which way.

import { element } from "../../shared/elements";
import { bytes, counted, duration, percent } from "../../shared/numbers";
import { type Pair, type Place, kindsOf, type Traffic, trafficOf } from "../data/traffic";
import { FONT, prepared, styles } from "../drawing/styles";
import { mixed, packed } from "../drawing/raster";
import { showTip } from "../panel";
import type { Panel } from "./panel";
import { sortedTable } from "./table";
import type { Timeline } from "../timeline";

const VALUES: Record<string, { of(pair: Pair): number; text(value: number): string }> = {
  bytes: { of: (pair) => pair.bytes, text: bytes },
  messages: { of: (pair) => pair.messages, text: (value) => value.toLocaleString("en") },
  "mean size": { of: (pair) => pair.bytes / pair.messages, text: bytes },
  "mean duration": { of: (pair) => (pair.timed ? pair.lasted / pair.timed : NaN), text: (value) => (value ? duration(value) : "–") },
};
const SIDE = 250, // CSS pixels
  WRITTEN = 44; // a cell from which on its number is written into it

const chosen = { kind: -1, value: "bytes", by: "rank" as Place };

export const matrixPanel: Panel = {
  id: "messages",
  title: "Messages",
  there: (model) => model.messages.sent.length > 0,
  fill(timeline, begin, end, again) {
    const kinds = kindsOf(timeline.model);
    if (!kinds.includes(chosen.kind)) chosen.kind = kinds[0];
    const found = trafficOf(timeline.model, begin, end, chosen.kind, chosen.by),
      side = element("div", undefined, { class: "beside" });
    side.append(squareOf(found), listOf(found, again));
    return [choices(timeline, kinds, again), element("p", sentence(timeline, found), { class: "said" }), side];
  },
};

function choices({ model }: Timeline, kinds: number[], again: () => void): HTMLElement {
  const made = element("div", undefined, { class: "choices" });
  const choice = (label: string, names: string[], now: string, set: (name: string) => void) => {
    const select = element("select", undefined, { "aria-label": label });
    select.append(...names.map((name) => element("option", name, name === now ? { selected: true } : {})));
    select.onchange = () => (set(select.value), again());
    return select;
  };
  const { kinds: names } = model.messages;
  made.append(
    choice("Which messages", kinds.map((kind) => names[kind]), names[chosen.kind], (name) => (chosen.kind = names.indexOf(name))),
    choice("What is shown", Object.keys(VALUES), chosen.value, (name) => (chosen.value = name)),
    choice("From what to what", ["rank", "processor", "host"], chosen.by, (name) => (chosen.by = name as Place)),
  );
  return made;
}

// What went in all, and in which way.
function sentence({ model }: Timeline, { pairs, ways }: Traffic): string {
  const all = pairs.reduce((sum, pair) => sum + pair.messages, 0),
    size = pairs.reduce((sum, pair) => sum + pair.bytes, 0);
  if (!all) return "No messages here.";
  const parts = ways
    .map((way, number) => ({ ...way, name: model.messages.ways[number] }))
    .filter(({ messages }) => messages)
    .map(({ name, messages, bytes: moved }) => `${name} ${bytes(moved)} (${percent(size ? moved / size : messages / all)})`);
  const step = model.messages.step ? ` Summed up in stretches of ${duration(model.messages.step)}.` : "";
  return `${counted(all, "message")} with ${bytes(size)}: ${parts.join(", ")}.${step}`;
}

function squareOf({ names, pairs }: Traffic): HTMLElement {
  const canvas = element("canvas", undefined, { role: "img" }),
    size = SIDE / names.length,
    { of, text } = VALUES[chosen.value],
    look = styles(),
    pen = prepared(canvas, SIDE, SIDE),
    values = pairs.map(of).filter((value) => value > 0),
    [low, high] = [Math.min(...values), Math.max(...values)];
  pen.fillStyle = look.row;
  pen.fillRect(0, 0, SIDE, SIDE);
  pen.font = `11px ${FONT}`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const pair of pairs) {
    const value = of(pair),
      [x, y] = [pair.receiver * size, pair.sender * size];
    if (!(value > 0)) continue;
    const share = high > low ? 0.15 + (0.85 * Math.log(value / low)) / Math.log(high / low) : 1;
    pen.fillStyle = css(mixed(packed(look.paper), packed(look.accent), share));
    pen.fillRect(x, y, Math.max(1, size - (size > 6 ? 1 : 0)), Math.max(1, size - (size > 6 ? 1 : 0)));
    pen.fillStyle = share > 0.5 ? look.paper : look.ink;
    if (size >= WRITTEN) pen.fillText(text(value), x + size / 2, y + size / 2, size - 4);
  }
  canvas.setAttribute("aria-label", `${chosen.value} from each ${chosen.by} (line) to each (column); the table beside lists them`);
  canvas.onpointermove = ({ offsetX, offsetY, clientX, clientY }) => {
    const [sender, receiver] = [offsetY, offsetX].map((at) => Math.floor(at / size)),
      pair = pairs.find((one) => one.sender === sender && one.receiver === receiver);
    showTip(element("div", names[sender] && names[receiver] ? pairText(names, sender, receiver, pair) : ""), clientX, clientY);
  };
  canvas.onpointerleave = () => showTip(null);
  const made = element("figure");
  made.append(canvas, element("figcaption", `from (line) to (column); ${values.length ? `${text(low)} to ${text(high)}, logarithmic` : "nothing"}`));
  return made;
}

function pairText(names: string[], sender: number, receiver: number, pair?: Pair): string {
  const what = pair ? Object.entries(VALUES).map(([name, { of, text }]) => `${name} ${text(of(pair))}`) : ["nothing"];
  return `${names[sender]} → ${names[receiver]}: ${what.join(", ")}`;
}

function css(colour: number): string {
  return `rgb(${colour & 0xff} ${(colour >> 8) & 0xff} ${(colour >> 16) & 0xff})`;
}

function listOf({ names, pairs }: Traffic, again: () => void): HTMLElement {
  const made = element("div");
  const numbers = Object.entries(VALUES).map(([title, { of, text }]) => ({
    title,
    key: (pair: Pair) => of(pair) || 0,
    text: (pair: Pair) => text(of(pair)),
  }));
  const ends = (["sender", "receiver"] as const).map((title) => ({
    title,
    key: (pair: Pair) => names[pair[title]],
    text: (pair: Pair) => names[pair[title]],
  }));
  made.append(...sortedTable("messages", [...ends, ...numbers], pairs, again));
  return made;
}
