// What is looked at: the window in time, the rows' places, what is hidden, chosen, found.

const LEAST_MAIN = 18,
  MOST_MAIN = 45,
  MOST_STACKED = 30,
  NESTED = 13,
  SERIES = 26,
  THIN = 7,
  SPACE = 5,
  PROCESSOR_SPACE = 7,
  TOP = 6;

function viewOf(model) {
  return {
    begin: model.begin,
    end: model.end,
    scale: 1, // of the rows' heights
    width: 0,
    height: 0, // of the picture of blocks, CSS pixels
    hidden: new Set(), // groups of the legend
    folded: new Set(), // processors
    layers: {
      lines: model.messages.sent.length <= 400,
      memory: false,
      queues: false,
      nested: true,
      marks: true,
    },
    selected: null, // an entry of the base level
    tph: 0, // number in model.tphs, from 1
    tphEntries: [],
    found: [], // entries, by time
    current: -1, // of found
    failed: outlined(model, entriesOf(model, 1)),
    unfinished: outlined(model, entriesOf(model, 2)),
    hits: outlined(model, []), // The found ones, to draw.
    places: [], // of rows, see layOut
  };
}

function entriesOf(model, state) {
  const found = [];
  model.state.forEach((value, entry) => value === state && found.push(entry));
  return found.sort((a, b) => model.base.start[a] - model.base.start[b]);
}

function pixels(view) {
  return view.width / (view.end - view.begin);
}

function xOf(view, time) {
  return (time - view.begin) * pixels(view);
}

function timeAt(view, x) {
  return view.begin + x / pixels(view);
}

// Moves the window, inside the trace; shorter than 20 ns makes no sense.
function look(model, view, begin, end) {
  const whole = model.end - model.begin;
  const length = Math.min(Math.max(end - begin, 20), whole);
  const middle = (begin + end) / 2;
  view.begin = Math.min(Math.max(middle - length / 2, model.begin), model.end - length);
  view.end = view.begin + length;
}

function zoom(model, view, factor, time = (view.begin + view.end) / 2) {
  const length = Math.min(Math.max((view.end - view.begin) * factor, 20), model.end - model.begin);
  const left = (time - view.begin) / (view.end - view.begin);
  look(model, view, time - left * length, time + (1 - left) * length);
}

function shown(view, kind) {
  return !view.hidden.has(kind.group);
}

// Puts rows one below the other: their main lane, lanes of what is nested, lanes of series.
function layOut(model, view) {
  const { main, below } = laneHeights(model, view);
  const thin = main < 3,
    space = thin ? 0 : Math.min(SPACE, 0.3 * main),
    between = Math.min(PROCESSOR_SPACE, 0.4 * main);
  let y = TOP,
    before = null;
  view.places = model.rows.map((row, index) => {
    if (index && row.group !== before) y += between;
    before = row.group;
    const folded = view.folded.has(row.group);
    const place = { y, folded, lanes: [], series: [], main: folded ? Math.min(THIN, main) : main };
    row.lanes.forEach((lane, depth) => {
      if (depth && (folded || !view.layers.nested)) return;
      const height = depth ? below : place.main;
      place.lanes.push({ lane, y, height, nested: depth > 0 });
      y += height + (depth ? 1 : thin ? 0 : 2);
    });
    for (const series of folded ? [] : model.series) {
      if (series.row !== index || !view.layers[series.name]) continue;
      place.series.push({ series, y: y + 2, height: SERIES - 4 });
      y += SERIES;
    }
    place.height = y - place.y;
    y += folded ? Math.min(1, space) : space;
    return place;
  });
  view.total = y + TOP;
}

// As high as the window has room for, within what is easy to read; routines alone have lanes of one height.
function laneHeights(model, view) {
  const rows = model.rows.length,
    groups = new Set(model.rows.map((row) => row.group)).size;
  const nested = view.layers.nested ? model.lanes.length - rows : 0;
  const series = model.series.filter((series) => view.layers[series.name]).length;
  const room =
    view.height - 2 * TOP - rows * (SPACE + 2) - (groups - 1) * PROCESSOR_SPACE - nested - series * SERIES;
  if (model.stacked) {
    const height = view.scale * Math.min(MOST_STACKED, Math.max(NESTED, room / Math.max(1, rows + nested)));
    return { main: height, below: height };
  }
  const main =
    view.scale * Math.min(MOST_MAIN, Math.max(LEAST_MAIN, (room - nested * NESTED) / Math.max(1, rows)));
  return {
    main: Math.max(1, main),
    below: NESTED * Math.min(2, view.scale < 1 ? Math.min(1, main / LEAST_MAIN) : view.scale),
  };
}

// All rows at once, or as high as usual.
function fitRows(model, view) {
  const all = view.total > view.height;
  view.scale = 1;
  layOut(model, view);
  while (all && view.total > view.height && view.scale > 0.01) {
    view.scale *= 0.95;
    layOut(model, view);
  }
}

// What lies at a point of the picture: the lane and the row.
function laneAt(view, y) {
  for (let row = 0; row < view.places.length; row++) {
    const place = view.places[row];
    if (y < place.y || y >= place.y + place.height) continue;
    const lane = place.lanes.find((lane) => y >= lane.y && y < lane.y + lane.height + 1);
    const series = place.series.find((series) => y >= series.y && y < series.y + series.height);
    return { row, lane, series };
  }
  return null;
}

// The mark at a point, if any.
function markAt(model, view, x, y) {
  if (!view.layers.marks) return undefined;
  return model.marks.find((mark) => {
    const top = view.places[mark.row].y;
    return y >= top - 2 && y <= top + 9 && Math.abs(xOf(view, mark.time) - x) <= 5;
  });
}

// The entry at a point, of the level that is drawn; blocks thinner than the pointer are met 3 pixels around.
function entryAt(model, view, x, y) {
  const at = laneAt(view, y);
  if (!at || !at.lane) return null;
  const level = drawnLevel(model, view);
  const near = 3 / pixels(view),
    time = timeAt(view, x),
    to = level.from[at.lane.lane + 1];
  let best = null,
    distance = Infinity;
  for (let i = firstAfter(level, at.lane.lane, time - near); i < to && level.start[i] <= time + near; i++) {
    const away = Math.max(level.start[i] - time, time - level.end[i], 0);
    if (away <= distance && visible(model, view, level, i)) ((best = i), (distance = away));
  }
  return best === null ? null : { level, entry: best, row: at.row, lane: at.lane.lane };
}

function drawnLevel(model, view) {
  return levelFor(model, 3 / pixels(view));
}

function visible(model, view, level, i) {
  for (let p = level.first[i]; p < level.first[i + 1]; p++)
    if (shown(view, model.kinds[level.kind[p]])) return true;
  return false;
}

// The entry of the base level that an entry of a coarser one is, if it is one block; else -1.
function baseEntry(model, found) {
  if (found.level === model.base) return found.entry;
  if (blocksIn(found.level, found.entry) > 1) return -1;
  const start = found.level.start[found.entry];
  let i = firstAfter(model.base, found.lane, start);
  while (i > model.base.from[found.lane] && model.base.start[i - 1] >= start) i--; // Of no length.
  while (i < model.base.from[found.lane + 1] && model.base.start[i] < start) i++;
  return i;
}
