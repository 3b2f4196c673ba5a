// The trace in memory: columns from the file, lanes of blocks, and coarser levels of them.
//
// A lane is a sequence of entries that don't overlap, by time.  An entry has one piece if it is one block;
// where blocks are merged it has one for each kind of them, with their number and the sum of their times.

async function readModel() {
  const head = JSON.parse(document.getElementById("head").textContent);
  const column = columnReader(head.columns, await inflated(document.getElementById("data").textContent));
  const model = Object.assign({}, head, { column });
  model.rows.forEach((row) => (row.lanes = []));
  model.lanes.forEach((lane, number) => model.rows[lane.row].lanes.push(number));
  readEntries(model);
  model.tphs = readTphs(model);
  readMessages(model);
  readSeries(model);
  model.levels = levelsOf(model);
  // Routines alone, without module calls.
  model.stacked = model.kinds.length > 0 && model.kinds.every((kind) => kind.category === "routine");
  return model;
}

// Columns lie one after the other; of each value the lowest bytes of all come first, then the next ones.
function columnReader(columns, bytes) {
  const places = new Map();
  let offset = 0;
  for (const { name, count, planes } of columns) {
    places.set(name, { count, planes, offset });
    offset += count * planes;
  }
  return (name) => {
    const { count, planes, offset } = places.get(name);
    const values = new Float64Array(count);
    for (let plane = planes - 1; plane >= 0; plane--) {
      const from = offset + plane * count;
      for (let i = 0; i < count; i++) values[i] = values[i] * 256 + bytes[from + i];
    }
    return values;
  };
}

const signed = (value) => (value % 2 ? -(value + 1) / 2 : value / 2);

function readEntries(model) {
  const gap = model.column("gap"),
    length = model.column("length"),
    extra = model.column("extra");
  const start = new Float64Array(gap.length),
    end = new Float64Array(gap.length);
  const first = new Uint32Array(gap.length + 1),
    from = new Uint32Array(model.lanes.length + 1);
  let entry = 0;
  model.lanes.forEach((lane, index) => {
    from[index] = entry;
    for (let clock = model.begin, n = 0; n < lane.count; n++, entry++) {
      start[entry] = clock + signed(gap[entry]);
      clock = end[entry] = start[entry] + length[entry];
      first[entry + 1] = first[entry] + 1 + extra[entry];
    }
  });
  from[model.lanes.length] = entry;
  const kind = Uint32Array.from(model.column("kind")),
    count = Uint32Array.from(model.column("count"), (n) => n + 1);
  const time = model.column("less");
  for (let i = 0; i < entry; i++) {
    for (let p = first[i]; p < first[i + 1]; p++) time[p] = length[i] - signed(time[p]);
  }
  model.base = { bin: model.quantum, start, end, first, from, kind, time, count };
  for (const name of ["tph", "peer", "partition", "state"])
    model[name] = Uint32Array.from(model.column(name));
  model.cpu = model.column("cpu");
}

function readMessages(model) {
  const sent = model.column("sent"),
    took = model.column("took");
  for (let i = 0, clock = model.begin; i < sent.length; i++) sent[i] = clock += signed(sent[i]);
  const received = took.map((value, i) => sent[i] + signed(value));
  const [sender, receiver, tph] = ["sender", "receiver", "message_tph"].map(model.column);
  model.messages = { sent, received, sender, receiver, tph };
}

// Numbers of TPHs are beyond what a double holds exactly, so they are text.
function readTphs(model) {
  const [high, low, parent, loop, counter] = [
    "tph_high",
    "tph_low",
    "tph_parent",
    "tph_loop",
    "tph_counter",
  ].map(model.column);
  const named = (i) => {
    // As the program counts: from the outermost loop in.
    const name = loop[i] && loop[i] <= model.loops.length ? model.loops[loop[i] - 1] || "round" : "";
    const around = parent[i] && parent[i] - 1 < i ? named(parent[i] - 1) : "";
    return [around, name && `${name} = ${signed(counter[i])}`].filter(Boolean).join(", ");
  };
  return Array.from(low, (_, i) => {
    const number = String((BigInt(high[i]) << 32n) + BigInt(low[i]));
    return { number, text: named(i) || (number === "1" ? "the program" : "") };
  });
}

function readSeries(model) {
  const gap = model.column("series_gap"),
    value = model.column("series_value");
  let next = 0;
  for (const series of model.series) {
    series.time = gap.slice(next, next + series.count);
    series.value = value.slice(next, (next += series.count));
    for (let i = 0, clock = model.begin; i < series.count; i++) series.time[i] = clock += series.time[i];
    series.peak = series.value.reduce((a, b) => Math.max(a, b), 0);
  }
}

// Coarser and coarser levels, each made from the one before, where that saves entries.
function levelsOf(model) {
  const levels = [model.base];
  const span = model.end - model.begin;
  for (let bin = Math.max(1000, 2 * model.quantum); bin < span / 100; bin *= 2) {
    const level = levels[levels.length - 1];
    if (level.start.length < 2000) break;
    if (groupsOf(level, bin) < 0.8 * level.start.length) levels.push(coarser(level, bin, model));
  }
  return levels;
}

// Short entries that begin in the same bin are merged; a longer one stays itself.
function groupEnd(level, i, to, bin) {
  const { start, end } = level;
  if (end[i] - start[i] >= bin) return i + 1;
  const limit = (Math.floor(start[i] / bin) + 1) * bin;
  let next = i + 1;
  while (next < to && start[next] < limit && end[next] - start[next] < bin) next++;
  return next;
}

function groupsOf(level, bin) {
  let groups = 0;
  for (let lane = 0; lane + 1 < level.from.length; lane++) {
    for (let i = level.from[lane]; i < level.from[lane + 1]; groups++)
      i = groupEnd(level, i, level.from[lane + 1], bin);
  }
  return groups;
}

function coarser(level, bin, model) {
  const groups = groupsOf(level, bin),
    pieces = level.kind.length;
  const made = {
    bin,
    start: new Float64Array(groups),
    end: new Float64Array(groups),
    first: new Uint32Array(groups + 1),
    from: new Uint32Array(level.from.length),
    kind: new Uint32Array(pieces),
    time: new Float64Array(pieces),
    count: new Uint32Array(pieces),
  };
  const place = new Int32Array(model.kinds.length).fill(-1);
  let group = 0,
    next = 0;
  for (let lane = 0; lane + 1 < level.from.length; lane++) {
    made.from[lane] = group;
    for (let i = level.from[lane], to = level.from[lane + 1]; i < to;) {
      const stop = groupEnd(level, i, to, bin);
      next = merged(level, i, stop, made, group++, next, place);
      i = stop;
    }
  }
  made.from[level.from.length - 1] = group;
  for (const name of ["kind", "time", "count"]) made[name] = made[name].slice(0, next);
  return made;
}

function merged(level, i, stop, made, group, next, place) {
  made.start[group] = level.start[i];
  let last = level.end[i];
  for (let k = i; k < stop; k++) last = Math.max(last, level.end[k]);
  made.end[group] = last;
  const begin = next;
  for (let p = level.first[i]; p < level.first[stop]; p++) {
    const kind = level.kind[p];
    if (place[kind] < 0) made.kind[(place[kind] = next++)] = kind;
    made.time[place[kind]] += level.time[p];
    made.count[place[kind]] += level.count[p];
  }
  for (let p = begin; p < next; p++) place[made.kind[p]] = -1;
  return (made.first[group + 1] = next);
}

// The first entry of a lane that ends after a time.
function firstAfter(level, lane, time) {
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
function levelFor(model, bin) {
  let chosen = model.base;
  for (const level of model.levels) if (level.bin <= bin) chosen = level;
  return chosen;
}

function laneOf(model, entry) {
  let low = 0,
    high = model.lanes.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (model.base.from[middle] <= entry) low = middle;
    else high = middle;
  }
  return low;
}

function blocksIn(level, i) {
  let blocks = 0;
  for (let p = level.first[i]; p < level.first[i + 1]; p++) blocks += level.count[p];
  return blocks;
}

// Time of each kind between two moments, summed over lanes; what the edges cut is counted in proportion.
function timesBetween(model, begin, end) {
  const times = new Float64Array(model.kinds.length);
  const level = levelFor(model, (end - begin) / 2000);
  for (let lane = 0; lane < model.lanes.length; lane++) {
    const to = level.from[lane + 1];
    for (let i = firstAfter(level, lane, begin); i < to && level.start[i] < end; i++) {
      const length = level.end[i] - level.start[i];
      const inside = Math.min(end, level.end[i]) - Math.max(begin, level.start[i]);
      const share = length > 0 ? inside / length : 1;
      for (let p = level.first[i]; p < level.first[i + 1]; p++) times[level.kind[p]] += share * level.time[p];
    }
  }
  return times;
}
