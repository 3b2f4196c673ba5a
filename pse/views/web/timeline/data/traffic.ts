// Who sent how much to whom in a window of time.

import type { Model } from "./model";

export type Place = "rank" | "processor" | "host";

export interface Pair {
  sender: number; // of `names`
  receiver: number;
  messages: number;
  bytes: number;
  lasted: number; // ns, of those whose time is known, together
  timed: number; // how many those are
}

export interface Traffic {
  names: string[];
  pairs: Pair[];
  ways: { messages: number; bytes: number }[]; // of each way
}

// Messages of a kind that were on their way in the window, from rank to rank, or between what ranks are in.
export function trafficOf(model: Model, begin: number, end: number, kind: number, by: Place): Traffic {
  const { sender, receiver, sent, received, bytes, count, lasted, way, kind: kinds, ways } = model.messages,
    { names, places } = placesOf(model, by),
    pairs = new Map<number, Pair>(),
    sums = ways.map(() => ({ messages: 0, bytes: 0 }));
  for (let i = 0; i < sent.length; i++) {
    if (kinds[i] !== kind || received[i] < begin || sent[i] > end) continue;
    const pair = pairOf(pairs, places[sender[i]], places[receiver[i]], names.length);
    pair.messages += count[i];
    pair.bytes += bytes[i];
    if (lasted[i] > 0) [pair.lasted, pair.timed] = [pair.lasted + lasted[i], pair.timed + count[i]];
    sums[way[i]].messages += count[i];
    sums[way[i]].bytes += bytes[i];
  }
  return { names, pairs: [...pairs.values()], ways: sums };
}

function pairOf(pairs: Map<number, Pair>, sender: number, receiver: number, size: number): Pair {
  const key = sender * size + receiver;
  if (!pairs.has(key)) pairs.set(key, { sender, receiver, messages: 0, bytes: 0, lasted: 0, timed: 0 });
  return pairs.get(key)!;
}

// Names of ranks, processors or hosts, and for each row the number of its.
export function placesOf(model: Model, by: Place): { names: string[]; places: number[] } {
  const each = model.rows.map((row) =>
      by === "rank" ? `rank ${row.rank}` : by === "host" ? row.host || "?" : row.group || row.label,
    ),
    names = [...new Set(each)],
    number = new Map(names.map((name, place) => [name, place]));
  return { names, places: each.map((name) => number.get(name)!) };
}

// Which kinds of messages there are.
export function kindsOf(model: Model): number[] {
  return [...new Set(model.messages.kind)].sort();
}

// Bytes of each edge of the program's graph in a window, by its number.
export function edgeBytes(model: Model, begin: number, end: number): Map<number, { messages: number; bytes: number }> {
  const { tag, sent, received, bytes, count } = model.messages,
    sums = new Map<number, { messages: number; bytes: number }>();
  for (let i = 0; i < sent.length; i++) {
    if (!tag[i] || received[i] < begin || sent[i] > end) continue;
    const sum = sums.get(tag[i] - 1) ?? { messages: 0, bytes: 0 };
    sums.set(tag[i] - 1, { messages: sum.messages + count[i], bytes: sum.bytes + bytes[i] });
  }
  return sums;
}
