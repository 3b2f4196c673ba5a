// What runs print: the end of it is shown, and all of it is in a file.

import { query, request } from "./http";
import type { ServerEvent } from "./protocol";
import { type Console, type ConsolePart, desk, update } from "./store";

const LONGEST = 100_000; // characters that are shown of a run
const LONGEST_PART = 10_000;
const PAUSE_MS = 200; // between two changes of what is shown
const NOTHING: Console = { parts: [], cut: false, next: 0 };

type Printed = Extract<ServerEvent, { type: "console" }>;

let waiting: Printed[] = [];
let timer = 0;
const loading = new Set<string>();

/** Begin with what a run has printed so far. */
export async function loadConsole(run: string) {
  if (loading.has(run)) return;
  loading.add(run);
  const asked = request<{ text: string; from: number; next: number }>("GET", `runs/${run}/console?${query({ last: LONGEST })}`);
  const found = await asked.catch(() => null);
  loading.delete(run);
  const parts: ConsolePart[] = found?.text ? [{ number: 0, stream: "stdout", text: found.text }] : [];
  update({ consoles: { ...desk().consoles, [run]: found ? { parts, cut: found.from > 0, next: found.next } : NOTHING } });
}

/** The connection was lost, and what was printed meanwhile too: what is shown is loaded anew. */
export function forgetConsoles() {
  waiting = [];
  update({ consoles: {} });
}

export function printed(event: Printed) {
  waiting.push(event);
  timer ||= window.setTimeout(showPrinted, PAUSE_MS);
}

function showPrinted() {
  timer = 0;
  const consoles = { ...desk().consoles };
  for (const event of waiting) {
    const known = consoles[event.run];
    if (known && event.next > known.next) consoles[event.run] = withMore(known, event);
  }
  waiting = waiting.filter(({ run }) => loading.has(run));
  if (waiting.length) timer = window.setTimeout(showPrinted, PAUSE_MS);
  update({ consoles });
}

/** Whether nothing is joined to a part any more: it is as high as it is, whatever comes below. */
export const isWhole = ({ text }: ConsolePart) => text.length >= LONGEST_PART && text.endsWith("\n");

function withMore({ parts, cut }: Console, { stream, text, next }: Printed): Console {
  const last = parts.at(-1);
  const joins = last?.stream === stream && !isWhole(last) && last.text.length < LONGEST;
  const more = { stream, number: joins ? last.number : (last?.number ?? 0) + 1, text: joins ? last.text + text : text };
  const [kept, shortened] = lastOf([...(joins ? parts.slice(0, -1) : parts), more]);
  return { parts: kept, cut: cut || shortened, next };
}

/** The last parts, and whether any is gone: some more characters than are to be shown. */
function lastOf(parts: ConsolePart[]): [ConsolePart[], boolean] {
  let first = parts.length - 1;
  for (let length = parts[first].text.length; first > 0 && length < LONGEST; first--) length += parts[first - 1].text.length;
  return [parts.slice(first), first > 0];
}
