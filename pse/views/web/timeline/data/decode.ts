// From the page's text to arrays of numbers; a worker does this, so that the page answers while it reads.

import { inflated } from "../../shared/inflate";
import { type Level, levelsOf } from "./levels";

export interface ColumnHead {
  name: string;
  count: number;
  planes: number;
}

// What the worker needs of the page's head.
export interface Task {
  text: string;
  columns: ColumnHead[];
  lanes: { count: number }[];
  series: { count: number }[];
  kinds: number;
  begin: number;
  end: number;
  quantum: number;
  messages: { step: number }; // 0: the messages are single
}

export interface Series {
  time: Float64Array;
  value: Float64Array;
}

export type Timed = Record<"begin" | "length", Float64Array> & Record<"row" | "number", Uint32Array>;

export interface Decoded {
  levels: Level[];
  // Of each entry of the finest level.
  entries: Record<"tph" | "peer" | "partition" | "state" | "late" | "how", Uint32Array> &
    Record<"cpu" | "preempted" | "since" | "until" | "woken", Float64Array>;
  messages: Record<"sent" | "received" | "bytes" | "lasted", Float64Array> &
    Record<"sender" | "receiver" | "tph" | "tag" | "kind" | "way" | "count", Uint32Array>;
  tphs: Record<"high" | "low" | "parent" | "loop", Uint32Array> & { counter: Float64Array };
  series: Series[];
  // Time slices of the coscheduled layer, and what was matched in them, by time.
  slices: Timed & Record<"exchange", Float64Array> & Record<"operations" | "timed", Uint32Array>;
  matches: Timed & Record<"kind", Uint32Array>;
  // What the engine did between calls: how much of a time, of which row, which of `engine` in the head.
  engineTimes: Record<"begin" | "length" | "time", Float64Array> & Record<"row" | "part", Uint32Array>;
  path: { begin: Float64Array; length: Float64Array; row: Uint32Array; part: Uint32Array }; // row from 1; 0: not shown
}

export async function decoded(task: Task): Promise<Decoded> {
  const columns = new Columns(task.columns, await inflated(task.text));
  const base = baseLevel(task, columns);
  const levels = levelsOf(base, task.begin, task.end, task.quantum, task.kinds);
  const entries = {
    tph: columns.integers("tph"),
    peer: columns.integers("peer"),
    partition: columns.integers("partition"),
    state: columns.integers("state"),
    late: columns.integers("late"),
    how: columns.integers("how"),
    cpu: columns.numbers("cpu"),
    preempted: columns.numbers("preempted"),
    since: columns.numbers("since"),
    until: columns.numbers("until"),
    woken: columns.signed("woken"),
  };
  return {
    levels,
    entries,
    messages: messages(task, columns),
    tphs: tphs(columns),
    series: series(task, columns),
    slices: {
      ...timed(task, columns, "slice"),
      exchange: columns.numbers("slice_exchange"),
      operations: columns.integers("slice_operations"),
      timed: columns.integers("slice_timed"),
    },
    engineTimes: engineTimes(task, columns),
    matches: { ...timed(task, columns, "match"), kind: columns.integers("match_kind") },
    path: {
      begin: columns.numbers("path_begin"),
      length: columns.numbers("path_length"),
      row: columns.integers("path_row"),
      part: columns.integers("path_part"),
    },
  };
}

// All arrays, to hand them to the page without a copy.
export function buffersOf(made: object, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  for (const value of Object.values(made)) {
    if (ArrayBuffer.isView(value)) found.add(value.buffer as ArrayBuffer);
    else if (value && typeof value === "object") buffersOf(value, found);
  }
  return found;
}

// Columns lie one after the other; of each value the lowest bytes of all come first, then the next ones.
class Columns {
  private places = new Map<string, ColumnHead & { offset: number }>();

  constructor(
    heads: ColumnHead[],
    private bytes: Uint8Array,
  ) {
    let offset = 0;
    for (const head of heads) {
      this.places.set(head.name, { ...head, offset });
      offset += head.count * head.planes;
    }
  }

  // Numbers below 2 to the 32.
  integers(name: string): Uint32Array {
    return this.planes(name, 0, 4);
  }

  numbers(name: string): Float64Array {
    const values = new Float64Array(this.integers(name));
    if (this.places.get(name)!.planes <= 4) return values;
    const high = this.planes(name, 4, 8);
    for (let i = 0; i < values.length; i++) values[i] += high[i] * 2 ** 32;
    return values;
  }

  // Numbers of both signs: 0, -1, 1, -2, … are 0, 1, 2, 3, ….
  signed(name: string): Float64Array {
    const values = this.numbers(name);
    for (let i = 0; i < values.length; i++) {
      const value = values[i],
        half = Math.floor(value / 2);
      values[i] = value === 2 * half ? half : -half - 1;
    }
    return values;
  }

  private planes(name: string, low: number, high: number): Uint32Array {
    const { count, planes, offset } = this.places.get(name)!;
    const values = new Uint32Array(count);
    for (let plane = low; plane < Math.min(planes, high); plane++) {
      const from = offset + plane * count,
        shift = 8 * (plane - low);
      for (let i = 0; i < count; i++) values[i] |= this.bytes[from + i] << shift;
    }
    return values;
  }
}

function baseLevel(task: Task, columns: Columns): Level {
  const start = columns.signed("gap"),
    length = columns.numbers("length"),
    extra = columns.integers("extra");
  const end = new Float64Array(start.length),
    first = new Uint32Array(start.length + 1),
    from = new Uint32Array(task.lanes.length + 1);
  let entry = 0;
  task.lanes.forEach((lane, index) => {
    from[index] = entry;
    for (let clock = task.begin, n = 0; n < lane.count; n++, entry++) {
      start[entry] += clock;
      clock = end[entry] = start[entry] + length[entry];
      first[entry + 1] = first[entry] + 1 + extra[entry];
    }
  });
  from[task.lanes.length] = entry;
  const time = columns.signed("less"),
    once = columns.signed("again"),
    count = columns.integers("count");
  for (let i = 0; i < entry; i++) {
    for (let p = first[i]; p < first[i + 1]; p++) {
      time[p] = length[i] - time[p];
      once[p] = time[p] - once[p];
      count[p]++;
    }
  }
  return { bin: task.quantum, start, end, first, from, kind: columns.integers("kind"), time, once, count };
}

function messages(task: Task, columns: Columns): Decoded["messages"] {
  const sent = columns.signed("sent"),
    took = columns.signed("took"),
    single = !task.messages.step;
  for (let i = 0, clock = task.begin; i < sent.length; i++) sent[i] = clock += sent[i];
  return {
    sent,
    received: sent.map((time, i) => time + took[i]),
    sender: columns.integers("sender"),
    receiver: columns.integers("receiver"),
    tph: columns.integers("message_tph"),
    tag: columns.integers("message_tag"), // of `tags`, from 1; 0: none
    bytes: columns.numbers("bytes"),
    kind: columns.integers("message_kind"),
    way: columns.integers("message_way"),
    count: single ? new Uint32Array(sent.length).fill(1) : columns.integers("message_count"),
    lasted: single ? took : columns.signed("message_lasted"), // all of them together
  };
}

function timed(task: Task, columns: Columns, name: string): Timed {
  const begin = columns.numbers(`${name}_gap`);
  for (let i = 0, clock = task.begin; i < begin.length; i++) begin[i] = clock += begin[i];
  return {
    begin,
    length: columns.numbers(`${name}_length`),
    row: columns.integers(`${name}_row`),
    number: columns.integers(`${name}_number`),
  };
}

function engineTimes(task: Task, columns: Columns): Decoded["engineTimes"] {
  return {
    begin: columns.numbers("engine_begin").map((time) => time + task.begin),
    length: columns.numbers("engine_length"),
    time: columns.numbers("engine_time"),
    row: columns.integers("engine_row"),
    part: columns.integers("engine_part"),
  };
}

function tphs(columns: Columns): Decoded["tphs"] {
  return {
    high: columns.integers("tph_high"),
    low: columns.integers("tph_low"),
    parent: columns.integers("tph_parent"),
    loop: columns.integers("tph_loop"),
    counter: columns.signed("tph_counter"),
  };
}

function series(task: Task, columns: Columns): Series[] {
  const gap = columns.numbers("series_gap"),
    value = columns.numbers("series_value");
  let next = 0;
  return task.series.map(({ count }) => {
    const time = gap.slice(next, next + count),
      values = value.slice(next, (next += count));
    for (let i = 0, clock = task.begin; i < count; i++) time[i] = clock += time[i];
    return { time, value: values };
  });
}
