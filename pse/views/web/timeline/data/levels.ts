// Levels of detail: lanes of entries that don't overlap, by time, and coarser and coarser ones made from them.
//
// An entry has one piece if it is one block; where blocks are merged it has one for each kind of them, with
// their number and the sum of their times.

export interface Level {
  bin: number; // ns: shorter entries may be merged; 0: none is
  start: Float64Array;
  end: Float64Array;
  first: Uint32Array; // of each entry its first piece
  from: Uint32Array; // of each lane its first entry
  kind: Uint32Array; // of each piece
  time: Float64Array;
  once: Float64Array; // the time, where what lies in a block of the same kind counts there only
  count: Uint32Array;
}

// Each level is made from the one before, where that saves entries.
export function levelsOf(base: Level, begin: number, end: number, quantum: number, kinds: number): Level[] {
  const levels = [base];
  for (let bin = Math.max(1000, 2 * quantum); bin < (end - begin) / 100; bin *= 2) {
    const level = levels[levels.length - 1];
    if (level.start.length < 2000) break;
    const groups = groupsOf(level, bin);
    if (groups < 0.8 * level.start.length) levels.push(coarser(level, bin, groups, kinds));
  }
  return levels;
}

// Short entries that begin in the same bin are merged; a longer one stays itself.
function groupEnd({ start, end }: Level, i: number, to: number, bin: number): number {
  if (end[i] - start[i] >= bin) return i + 1;
  const limit = (Math.floor(start[i] / bin) + 1) * bin;
  let next = i + 1;
  while (next < to && start[next] < limit && end[next] - start[next] < bin) next++;
  return next;
}

function groupsOf(level: Level, bin: number): number {
  let groups = 0;
  for (let lane = 0; lane + 1 < level.from.length; lane++) {
    const to = level.from[lane + 1];
    for (let i = level.from[lane]; i < to; groups++) i = groupEnd(level, i, to, bin);
  }
  return groups;
}

function coarser(level: Level, bin: number, groups: number, kinds: number): Level {
  const pieces = level.kind.length;
  const made: Level = {
    bin,
    start: new Float64Array(groups),
    end: new Float64Array(groups),
    first: new Uint32Array(groups + 1),
    from: new Uint32Array(level.from.length),
    kind: new Uint32Array(pieces),
    time: new Float64Array(pieces),
    once: new Float64Array(pieces),
    count: new Uint32Array(pieces),
  };
  const place = new Int32Array(kinds).fill(-1);
  let group = 0,
    next = 0;
  for (let lane = 0; lane + 1 < level.from.length; lane++) {
    made.from[lane] = group;
    for (let i = level.from[lane], to = level.from[lane + 1]; i < to;) {
      const stop = groupEnd(level, i, to, bin);
      next = merge(level, i, stop, made, group++, next, place);
      i = stop;
    }
  }
  made.from[level.from.length - 1] = group;
  made.kind = made.kind.slice(0, next);
  made.time = made.time.slice(0, next);
  made.once = made.once.slice(0, next);
  made.count = made.count.slice(0, next);
  return made;
}

// Makes one entry of several: gives where the next one's pieces begin.
function merge(
  level: Level,
  i: number,
  stop: number,
  made: Level,
  group: number,
  next: number,
  place: Int32Array,
): number {
  made.start[group] = level.start[i];
  let last = level.end[i];
  for (let k = i + 1; k < stop; k++) if (level.end[k] > last) last = level.end[k];
  made.end[group] = last;
  const begin = next;
  for (let p = level.first[i]; p < level.first[stop]; p++) {
    const kind = level.kind[p];
    if (place[kind] < 0) made.kind[(place[kind] = next++)] = kind;
    made.time[place[kind]] += level.time[p];
    made.once[place[kind]] += level.once[p];
    made.count[place[kind]] += level.count[p];
  }
  for (let p = begin; p < next; p++) place[made.kind[p]] = -1;
  return (made.first[group + 1] = next);
}

// The first entry of a lane that ends after a time.
export function firstAfter(level: Level, lane: number, time: number): number {
  let low = level.from[lane],
    high = level.from[lane + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (level.end[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The coarsest level whose bins are at most so long.
export function levelFor(levels: Level[], bin: number): Level {
  let chosen = levels[0];
  for (const level of levels) if (level.bin <= bin) chosen = level;
  return chosen;
}

export function laneOf(base: Level, entry: number): number {
  let low = 0,
    high = base.from.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (base.from[middle] <= entry) low = middle;
    else high = middle;
  }
  return low;
}

export function blocksIn(level: Level, i: number): number {
  let blocks = 0;
  for (let p = level.first[i]; p < level.first[i + 1]; p++) blocks += level.count[p];
  return blocks;
}

// Calls back with each piece in a window, and how much of its time lies in it, where what lies in a block of
// the same kind counts there only; what the edges cut counts in proportion.
export function eachPiece(
  level: Level,
  lane: number,
  begin: number,
  end: number,
  take: (piece: number, inside: number, entry: number) => void,
): void {
  const to = level.from[lane + 1];
  for (let i = firstAfter(level, lane, begin); i < to && level.start[i] < end; i++) {
    const length = level.end[i] - level.start[i];
    const inside = Math.min(end, level.end[i]) - Math.max(begin, level.start[i]);
    const share = length > 0 ? inside / length : 1;
    for (let p = level.first[i]; p < level.first[i + 1]; p++) take(p, share * level.once[p], i);
  }
}

// The last time that is not after another; -1: there is none.
export function lastBefore(times: Float64Array, time: number): number {
  let low = 0,
    high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low - 1;
}
