// Why a rank waited: for whom, and for whom that rank did, as `pse trace why` follows it.

import { duration, moment } from "../shared/numbers";
import { firstAfter, laneOf } from "./data/levels";
import type { Kind, Model } from "./data/model";

export interface Ending {
  rank: number; // who was late
  row: number; // -1: it is not shown
  time: number; // when it did what ended the wait
  text: string; // what that was
  certain: boolean; // false: it is only the rank that should have
}

// What one rank did at the moment that is asked about.
export interface Link {
  rank: number;
  row: number;
  state: "call" | "wait" | "mpi" | "between" | "done" | "outside" | "unseen";
  entry: number; // of the finest level; -1: none
  begin: number;
  end: number;
  ending?: Ending;
}

export interface Chain {
  time: number;
  links: Link[];
  circle: boolean;
}

const LONGEST = 64;

// From the rank in a row to one that nobody kept waiting at that moment.
export function chainAt(model: Model, row: number, time: number): Chain {
  const links: Link[] = [],
    asked = new Set<number>();
  let rank = model.rows[row].rank;
  while (!asked.has(rank) && links.length < LONGEST) {
    asked.add(rank);
    const link = linkAt(model, rank, time);
    links.push(link);
    if (!link.ending || (link.ending.certain && link.ending.time <= time)) return { time, links, circle: false };
    rank = link.ending.rank;
  }
  return { time, links, circle: asked.has(rank) };
}

function linkAt(model: Model, rank: number, time: number): Link {
  const row = model.rows.findIndex((each) => each.rank === rank);
  if (row < 0) return { rank, row, state: "unseen", entry: -1, begin: time, end: time };
  const [main, ...nested] = model.rows[row].lanes.filter((lane) => !model.lanes[lane].layer),
    entry = main === undefined ? -1 : blockIn(model, main, time);
  if (entry < 0) return between(model, rank, row, time);
  const kind = kindOf(model, entry);
  if (kind.category === "wait") return waitingIn(model, rank, row, "wait", entry, time);
  const inside = [main, ...nested].map((lane) => blockIn(model, lane, time)).filter((block) => block >= 0),
    routine = inside.find((block) => isMpi(kindOf(model, block)));
  if (routine !== undefined) return waitingIn(model, rank, row, "mpi", routine, time);
  const called = model.stacked ? inside[inside.length - 1] : entry;
  return { rank, row, state: "call", entry: called, begin: model.base.start[called], end: model.base.end[called] };
}

function waitingIn(model: Model, rank: number, row: number, state: "wait" | "mpi", entry: number, time: number): Link {
  const ending = endingOf(model, entry);
  return {
    rank,
    row,
    state,
    entry,
    begin: model.base.start[entry] - model.since[entry],
    end: model.base.end[entry] + model.until[entry],
    ending: state === "mpi" && ending && ending.time <= time ? undefined : ending,
  };
}

function between(model: Model, rank: number, row: number, time: number): Link {
  const final = model.final.find(([one, from, until]) => one === rank && from <= time && time < until);
  if (final) return doneLink(model, row, time, final);
  const outside = model.outside[row].find(([from, to]) => from <= time && time < to);
  const [begin, end] = outside ?? [time, time];
  return { rank, row, state: outside ? "outside" : "between", entry: -1, begin, end };
}

// A rank that was done with its part waits for the last one, if that still worked.
function doneLink(model: Model, row: number, time: number, [rank, begin, end, last, ended]: Model["final"][number]): Link {
  const found = { rank: last, row: model.rows.findIndex((one) => one.rank === last), time: ended, text: "was done, too,", certain: true };
  return { rank, row, state: "done", entry: -1, begin, end, ending: ended > time ? found : undefined };
}

// The block that a lane was in; waits for the same thing are one, whatever the rank was woken for between them.
function blockIn(model: Model, lane: number, time: number): number {
  const { base } = model;
  let entry = firstAfter(base, lane, time);
  if (entry >= base.from[lane + 1] || base.start[entry] > time) entry--;
  if (entry < base.from[lane]) return -1;
  return time < base.end[entry] + model.until[entry] || model.state[entry] === 2 ? entry : -1;
}

export function endingOf(model: Model, entry: number): Ending | undefined {
  const late = model.late[entry];
  if (!late) return suspectOf(model, entry);
  const rank = late - 1;
  return {
    rank,
    row: model.rows.findIndex((row) => row.rank === rank),
    time: model.base.end[entry] - model.woken[entry],
    text: model.endings[model.how[entry] - 1],
    certain: true,
  };
}

// Of a wait that never ended: who should have ended it.
function suspectOf(model: Model, entry: number): Ending | undefined {
  if (model.state[entry] !== 2 || kindOf(model, entry).category !== "wait") return undefined;
  const { row, run } = model.lanes[laneOf(model.base, entry)],
    found = model.suspects.find(([rank]) => rank === model.rows[row].rank);
  if (!found || run) return undefined;
  const rank = found[1];
  return { rank, row: model.rows.findIndex((row) => row.rank === rank), time: model.base.end[entry], text: "", certain: false };
}

export function kindOf(model: Model, entry: number): Kind {
  return model.kinds[model.base.kind[model.base.first[entry]]];
}

const isMpi = (kind: Kind) => kind.category === "routine" && kind.label.startsWith("MPI_");

const AWAKE = 1e6; // ns: later awakenings are worth a word.

// A link in words: what the rank did, for how long, and how that ended.
export function linkText(model: Model, link: Link, resolution: number): string[] {
  const at = (time: number) => moment(time, resolution),
    kind = link.entry < 0 ? undefined : kindOf(model, link.entry);
  const rank = `rank ${link.rank}`,
    label = link.row < 0 ? rank : model.rows[link.row].label,
    name = label === rank ? rank : `${rank} (${label})`;
  const words = {
    call: () => `${model.stacked ? "was outside of MPI, in" : "executed"} ${placed(kind!.label, kind!.place)}`,
    wait: () => `waited ${waitText(kind!)}${kind!.call ? `, to execute ${kind!.call}` : ""}`,
    mpi: () => `was in ${kind!.label}`,
    done: () => "was done with its part of the program, and waited for the other ranks",
    between: () => (model.stacked ? "was outside of MPI, in the program" : "was between two calls, in the engine"),
    outside: () => "was outside of the program, at its start or end",
    unseen: () => "is not shown in this page",
  };
  const lines = [`${name} ${words[link.state]()}`];
  const endless = link.entry >= 0 && model.state[link.entry] === 2;
  if (endless) lines.push(`from ${at(link.begin)} on; the trace doesn't show the end of it`);
  else if (link.end > link.begin)
    lines.push(`for ${duration(link.end - link.begin)}, from ${at(link.begin)} to ${at(link.end)}`);
  if (link.ending && !link.ending.certain) lines.push(`it never ended; rank ${link.ending.rank} should have ended it`);
  else if (link.ending) {
    const late = link.end - link.ending.time;
    const awoke = late > AWAKE ? `, and it awoke ${duration(late)} later` : "";
    lines.push(`until rank ${link.ending.rank} ${link.ending.text} at ${at(link.ending.time)}${awoke}`);
  }
  return lines;
}

function waitText({ tag, source, reason }: Kind): string {
  return tag ? `for the tag ${tag}${source ? ` of ${source}` : ""}` : reason;
}

// The last sentence: who kept the first one waiting.
export function conclusion(model: Model, { links, circle }: Chain): string {
  const first = links[0],
    last = links[links.length - 1];
  if (circle) return `This closes a circle: rank ${last.ending!.rank} is named above.`;
  if (last.ending) return `So rank ${last.rank} had what it needed but was not awake yet.`;
  if (last.state === "wait") return "The trace doesn't show who ended this.";
  if (links.length < 2) return "";
  const did = linkText(model, last, 1e3)[0].replace(/^rank \d+( \(.*?\))? /, "");
  return `So rank ${first.rank} waited for rank ${last.rank}, which ${did}.`;
}

function placed(label: string, place: string): string {
  const line = /:(\d+)(:\d+)?$/.exec(place);
  return line ? `${label} (line ${line[1]})` : label;
}
