// The hand-overs of one call: those that brought its inputs, and those of what it defined.

import { kindOf } from "../causes";
import type { Model } from "../data/model";

export interface Flow {
  message: number;
  into: boolean; // the call, not out of it
}

// Of the same TPH: of each tag that the call reads the last that came before it, and all of a tag that it defines
// that were sent after it, before the next call of the row that defines it.
export function flowsOf(model: Model, entry: number, row: number): Flow[] {
  const kind = kindOf(model, entry);
  if (kind.category !== "call" || !model.tph[entry] || model.messages.step) return [];
  const { sent, received, sender, receiver, tph, tag } = model.messages,
    { start } = model.base,
    [reads, defines] = [kind.reads, kind.defines].map((names) => new Set(names.split(", ").filter(Boolean))),
    until = nextDefining(model, entry, row),
    inputs = new Map<string, number>(),
    found: Flow[] = [];
  for (let i = 0; i < sent.length; i++) {
    if (tph[i] !== model.tph[entry] || !tag[i]) continue;
    const name = model.tags[tag[i] - 1];
    if (receiver[i] === row && reads.has(name) && received[i] <= start[entry]) inputs.set(name, i);
    if (sender[i] === row && defines.has(name) && sent[i] >= start[entry] && sent[i] < until)
      found.push({ message: i, into: false });
  }
  return [...Array.from(inputs.values(), (message) => ({ message, into: true })), ...found];
}

// When the row's next call of the same call site begins.
function nextDefining(model: Model, entry: number, row: number): number {
  const { base } = model;
  for (const lane of model.rows[row].lanes) {
    if (entry < base.from[lane] || entry >= base.from[lane + 1]) continue;
    for (let i = entry + 1; i < base.from[lane + 1]; i++)
      if (base.kind[base.first[i]] === base.kind[base.first[entry]]) return base.start[i];
  }
  return Infinity;
}
