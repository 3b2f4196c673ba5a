// The message matrix: who sent how much to whom in the window, and in which way.

import { element } from "../../shared/elements";
import { bytes, counted, duration, percent } from "../../shared/numbers";
import { type Pair, type Place, kindsOf, type Traffic, trafficOf } from "../data/traffic";
import { FONT, prepared, styles } from "../drawing/styles";
import { mixed, packed } from "../drawing/raster";
import { showTip } from "../panel";
import type { Panel } from "./panel";
import { sortedTable } from "./table";
import type { TimelineState } from "../state";

const VALUES: Record<string, { of(pair: Pair): number; text(value: number): string }> = {
  bytes: { of: (pair) => pair.bytes, text: bytes },
  messages: { of: (pair) => pair.messages, text: (value) => value.toLocaleString("en") },
  "mean size": { of: (pair) => pair.bytes / pair.messages, text: bytes },
  "mean duration": { of: (pair) => (pair.timed ? pair.lasted / pair.timed : NaN), text: (value) => (value ? duration(value) : "–") },
};
const SIDE = 250, // CSS pixels
  WRITTEN = 44; // a cell from which on its number is written into it

const PLACES: Place[] = ["rank", "processor", "host"];

// What is shown: of all that can be chosen, the first at first.
interface Choice {
  kind: number;
  value: string;
  by: Place;
}

function choiceOf({ model, view: { chosen } }: TimelineState): Choice {
  const kinds = kindsOf(model);
  return {
    kind: kinds.find((kind) => model.messages.kinds[kind] === chosen.messages) ?? kinds[0],
    value: Object.keys(VALUES).find((value) => value === chosen.value) ?? "bytes",
    by: PLACES.find((place) => place === chosen.between) ?? "rank",
  };
}

export const matrixPanel: Panel = {
  id: "messages",
  title: "Messages",
  there: (model) => model.messages.sent.length > 0,
  fill(timeline, begin, end, again) {
    const choice = choiceOf(timeline),
      found = trafficOf(timeline.model, begin, end, choice.kind, choice.by),
      side = element("div", undefined, { class: "beside" });
    side.append(squareOf(found, choice), listOf(found, again));
    return [choices(timeline, choice, again), element("p", sentence(timeline, found), { class: "said" }), side];
  },
};

function choices({ model, view, changed }: TimelineState, { kind, value, by }: Choice, again: () => void): HTMLElement {
  const made = element("div", undefined, { class: "choices" }),
    { kinds: names } = model.messages;
  const choice = (label: string, what: string, names: string[], now: string) => {
    const select = element("select", undefined, { "aria-label": label });
    select.append(...names.map((name) => element("option", name, name === now ? { selected: true } : {})));
    select.onchange = () => ((view.chosen[what] = select.value), again(), changed());
    return select;
  };
  made.append(
    choice("Which messages", "messages", kindsOf(model).map((kind) => names[kind]), names[kind]),
    choice("What is shown", "value", Object.keys(VALUES), value),
    choice("From what to what", "between", PLACES, by),
  );
  return made;
}

// What went in all, and in which way.
function sentence({ model }: TimelineState, { pairs, ways }: Traffic): string {
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

function squareOf({ names, pairs }: Traffic, { value: shown, by }: Choice): HTMLElement {
  const canvas = element("canvas", undefined, { role: "img" }),
    size = SIDE / names.length,
    { of, text } = VALUES[shown],
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
  canvas.setAttribute("aria-label", `${shown} from each ${by} (line) to each (column); the table beside lists them`);
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
