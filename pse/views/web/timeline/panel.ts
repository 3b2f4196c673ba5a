// What a block, a series or a mark is, in words: for the tip and for what is selected.

import { byId, element } from "../shared/elements";
import { bytes, counted, duration, moment, percent } from "../shared/numbers";
import { type Chain, conclusion, endingOf, linkText } from "./causes";
import { flowsOf } from "./drawing/flows";
import { blocksIn, laneOf, lastBefore } from "./data/levels";
import type { Mark, Model, RowSeries } from "./data/model";
import { styles } from "./drawing/styles";
import { sharesOf } from "./drawing/together";
import { baseEntry, drawnLevel, type Found, type LanePlace, pixels, timeAt, type View } from "./view";

export type Fact = [string, string];

export function buildHeading(model: Model): void {
  byId("name").textContent = model.title;
  byId("facts").textContent = byId("facts").title = model.facts.join(" · ");
  const notes = byId("notes"),
    lines = model.notes;
  notes.hidden = !lines.length;
  if (!lines.length) return;
  notes.classList.toggle("short", lines.length === 1);
  notes.querySelector("summary")!.textContent =
    lines.length === 1 ? lines[0] : `${lines[0]} (${lines.length - 1} more)`;
  notes.querySelector("ul")!.replaceChildren(...lines.slice(1).map((line) => element("li", line)));
}

export function describe(model: Model, found: Found): HTMLElement {
  const base = baseEntry(model, found);
  return base >= 0 && blocksIn(model.base, base) === 1
    ? describeBlock(model, base, found.row)
    : describeMerged(model, found);
}

const STATES = ["", "it failed", "not finished: the trace ends here"];

function describeBlock(model: Model, entry: number, rowNumber: number): HTMLElement {
  const { base } = model,
    kind = model.kinds[base.kind[base.first[entry]]],
    row = model.rows[rowNumber];
  const other = model.lanes[laneOf(base, entry)].run > 0,
    length = base.time[base.first[entry]]; // Aligned with another run, it may be drawn longer or shorter.
  const facts: Fact[] = [
    ["run", other ? model.runs[1] : ""],
    ["place", kind.place],
    ["row", row.where],
    ["TPH", tphText(model, model.tph[entry])],
  ];
  if (model.partition[entry] && model.partitions > 1)
    facts.push(["partition", `${model.partition[entry] - 1}`]);
  facts.push(["start", moment(base.start[entry], Math.max(1, length / 100))], ["duration", duration(length)]);
  if (kind.category === "call" && model.state[entry] < 2)
    facts.push(
      ["CPU", length > 0 ? `${percent(model.cpu[entry] / length)} of it` : ""],
      ["no core", model.preempted[entry] ? `${percent(model.preempted[entry] / length)} of it, though ready` : ""],
      ...flowFacts(model, entry, rowNumber),
    );
  if (kind.category === "state") facts.push(["wait", kind.reason]);
  if (kind.category === "wait") facts.push(["waits", kind.reason], ["call", kind.call], ["tag", kind.tag]);
  const ending = endingOf(model, entry);
  if (ending && !ending.certain) facts.push(["suspect", `rank ${ending.rank}, which should have ended it`]);
  else if (ending) {
    const step = Math.max(1, length / 1000),
      left = model.base.end[entry] + model.until[entry] - ending.time;
    facts.push(
      ["late", `rank ${ending.rank}, which ${ending.text} at ${moment(ending.time, step)}`],
      ["awake", left >= 0 ? `${duration(left)} after that` : "before that, for something else"],
    );
  }
  if (model.peer[entry]) facts.push(["from rank", `${model.peer[entry] - 1}`]);
  facts.push(["reads", kind.reads], ["defines", kind.defines], ["note", STATES[model.state[entry]]]);
  return article(kind.label, kind.colour, facts);
}

const MOST_FLOWS = 8; // that are told one by one

// What came to a call from other ranks, and what it handed over.
function flowFacts(model: Model, entry: number, row: number): Fact[] {
  const { sent, received, sender, receiver, tag, bytes: sizes } = model.messages,
    flows = flowsOf(model, entry, row),
    rest = flows.slice(MOST_FLOWS),
    size = rest.reduce((sum, { message }) => sum + sizes[message], 0);
  const facts = flows.slice(0, MOST_FLOWS).map(({ message, into }): Fact => {
    const other = model.rows[into ? sender[message] : receiver[message]].rank,
      at = moment(into ? received[message] : sent[message], 1e3);
    const text = `${model.tags[tag[message] - 1]}, ${bytes(sizes[message])}, ${into ? "from" : "to"} rank ${other} at ${at}`;
    return [into ? "input" : "output", text];
  });
  return rest.length ? [...facts, ["and", `${counted(rest.length, "more hand-over")}, ${bytes(size)} together`]] : facts;
}

function tphText(model: Model, number: number): string {
  if (!number) return "";
  const { number: name, text } = model.tphs.at(number);
  return text ? `${text} (TPH ${name})` : name;
}

function describeMerged(model: Model, found: Found): HTMLElement {
  const { level, entry } = found,
    row = model.rows[found.row];
  const length = level.end[entry] - level.start[entry];
  const parts = Array.from({ length: level.first[entry + 1] - level.first[entry] }, (_, n) => {
    const p = level.first[entry] + n;
    return { kind: model.kinds[level.kind[p]], time: level.time[p], count: level.count[p] };
  }).sort((a, b) => b.time - a.time);
  const facts = parts
    .slice(0, 8)
    .map(({ kind, time, count }): Fact => [
      kind.short,
      [
        counted(count, kind.category === "wait" ? "wait" : "call"),
        duration(time),
        percent(length ? time / length : 1),
      ].join(", "),
    ]);
  if (parts.length > 8) facts.push(["others", counted(parts.length - 8, "kind")]);
  facts.push(
    ["row", row.where],
    ["start", moment(level.start[entry], Math.max(1, length / 100))],
    ["length", duration(length)],
  );
  const made = article(
    `${counted(blocksIn(level, entry), "block")} drawn together`,
    parts[0].kind.colour,
    facts,
  );
  const finest = level === model.base;
  made.append(
    element("p", finest ? "The file holds them merged; see the note above." : "Zoom in to see each of them."),
  );
  return made;
}

// What ranks that are drawn as one do in a pixel.
export function describeTogether(model: Model, view: View, place: LanePlace, x: number): HTMLElement {
  const begin = timeAt(view, Math.floor(x)),
    end = timeAt(view, Math.floor(x) + 1),
    shares = sharesOf(model, drawnLevel(model, view), place, begin, end),
    rest = 1 - shares.reduce((sum, [, share]) => sum + share, 0),
    facts = shares.map(([group, share]): Fact => [group.name, percent(share)]);
  if (rest > 0.005) facts.push([model.stacked ? "outside of routines" : "in neither", percent(rest)]);
  return article(`${counted(place.together.length, "rank")} at ${moment(begin, end - begin)}`, styles().soft, facts);
}

// The chain of a wait in words, a line for each rank.
export function describeChain(model: Model, view: View, chain: Chain): HTMLElement[] {
  const step = Math.max(1, (view.end - view.begin) / 1000),
    list = element("ol", undefined, { class: "chain" });
  for (const link of chain.links) {
    const [first, ...rest] = linkText(model, link, step),
      item = element("li", first);
    item.append(...rest.map((line) => element("div", line)));
    list.append(item);
  }
  return [
    element("h3", `Why, at ${moment(chain.time, step)}`),
    list,
    element("p", conclusion(model, chain), { class: "conclusion" }),
  ];
}

export function describeSeries(model: Model, view: View, series: RowSeries, x: number): HTMLElement {
  const time = timeAt(view, x),
    at = lastBefore(series.time, time);
  const shown = (value: number) =>
    series.name === "memory" ? bytes(value) : counted(value, "entry", "entries");
  return article(series.name === "memory" ? "memory held" : "queue depths, all queues", styles().soft, [
    ["now", shown(at < 0 ? 0 : series.value[at])],
    ["peak", shown(series.peak)],
    ["row", model.rows[series.row].where],
    ["time", moment(time, 1 / pixels(view))],
    ["note", series.note],
  ]);
}

export function describeMark(model: Model, mark: Mark): HTMLElement {
  return article(mark.text, styles().ink, [
    ["mark", "set by the program or a tool"],
    ["row", model.rows[mark.row].where],
    ["time", moment(mark.time, 1000)],
  ]);
}

export function article(title: string, colour: string, facts: Fact[]): HTMLElement {
  const made = element("div", undefined, { class: "block" }),
    head = element("h4"),
    swatch = element("i"),
    list = element("dl");
  swatch.style.setProperty("--swatch", colour);
  head.append(swatch, title);
  for (const [name, value] of facts) if (value) list.append(element("dt", name), element("dd", value));
  made.append(head, list);
  return made;
}

export function showTip(content: HTMLElement | null, x = 0, y = 0): void {
  const tip = byId("tip");
  tip.hidden = !content;
  if (!content) return;
  tip.replaceChildren(content);
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, x + 16 + width > innerWidth ? x - 12 - width : x + 16)}px`;
  tip.style.top = `${Math.max(4, y + 18 + height > innerHeight ? y - 10 - height : y + 18)}px`;
}
