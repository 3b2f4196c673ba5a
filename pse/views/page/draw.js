// The picture: blocks, lines, series, the time axis, the overview.

function styles() {
  const css = getComputedStyle(document.documentElement);
  const pick = (name) => css.getPropertyValue(name).trim();
  return { paper: pick("--paper"), row: pick("--row"), line: pick("--line"), ink: pick("--ink"), soft: pick("--soft"),
           accent: pick("--accent"), failed: pick("--failed"), waits: Number(pick("--waits")) };
}

const FONT = 'system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif';

function prepared(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

function drawBlocks(model, view, scroll) {
  const pen = prepared(byId("blocks"), view.width, view.height);
  const look = styles(), level = drawnLevel(model, view);
  pen.translate(0, -scroll);
  const rows = view.places.filter((place) => place.y < scroll + view.height && place.y + place.height > scroll);
  pen.fillStyle = look.row;
  for (const place of rows) for (const lane of place.lanes) if (!lane.nested) pen.fillRect(0, lane.y, view.width, lane.height);
  drawTicks(model, view, pen, look, scroll);
  pen.globalAlpha = view.tph ? 0.22 : 1;
  for (const place of rows) for (const lane of place.lanes) drawLane(model, view, pen, look, level, lane);
  pen.globalAlpha = 1;
  for (const place of rows) for (const series of place.series) drawSeries(view, pen, look, series);
  if (view.tph) drawSome(model, view, pen, look, view.tphEntries, scroll);
  drawLines(model, view, pen, look);
  drawOutlines(model, view, pen, look, scroll);
  drawMarks(model, view, pen, look);
}

function drawTicks(model, view, pen, look, scroll) {
  pen.fillStyle = look.line;
  pen.globalAlpha = 0.6;
  for (const tick of ticksOf(view).at) pen.fillRect(Math.round(xOf(view, tick)), scroll, 1, view.height);
  pen.globalAlpha = 1;
}

function drawLane(model, view, pen, look, level, lane) {
  const to = level.from[lane.lane + 1], factor = pixels(view);
  for (let i = firstAfter(level, lane.lane, view.begin); i < to && level.start[i] < view.end; i++) {
    const left = Math.round(Math.max(-2, (level.start[i] - view.begin) * factor));
    const right = Math.round(Math.min(view.width + 2, (level.end[i] - view.begin) * factor));
    const single = level.first[i + 1] - level.first[i] === 1 && level.count[level.first[i]] === 1;
    if (single) drawBlock(model, view, pen, look, level.kind[level.first[i]], lane, left, right);
    else drawMerged(model, view, pen, look, level, i, lane, left, Math.max(right, left + 1));
  }
}

const WAIT_HEIGHT = 0.36; // Of a lane.

// A wait is a narrow band: waiting should look like less than working.
function drawBlock(model, view, pen, look, number, lane, left, right) {
  const kind = model.kinds[number], { y, height } = lane, width = Math.max(right - left, 1);
  if (!shown(view, kind)) return;
  pen.fillStyle = kind.colour;
  if (kind.category === "wait") {
    faded(pen, look.waits, () => pen.fillRect(left, y + 0.5 * (1 - WAIT_HEIGHT) * height, width, WAIT_HEIGHT * height));
    return;
  }
  pen.fillRect(left, y, width, height);
  if (width < 4) return;
  if (kind.hatch) hatch(pen, kind.hatch, left, y, width, height);
  pen.fillStyle = look.paper;
  pen.fillRect(left + width - 1, y, 1, height); // Blocks that touch are told apart.
  if (width > 30 && height >= 10) label(pen, kind, left, y, width, height);
}

function faded(pen, strength, paint) {
  const before = pen.globalAlpha;
  pen.globalAlpha = before * strength;
  paint();
  pen.globalAlpha = before;
}

function label(pen, kind, left, y, width, height) {
  const from = Math.max(left, 0);
  pen.font = `${Math.min(12, height - 2)}px ${FONT}`;
  pen.textBaseline = "middle";
  const room = left + width - from - 9;
  if (room < 14) return;
  let text = kind.label;
  const needed = pen.measureText(text).width;
  if (needed > room) text = text.slice(0, Math.floor((text.length * room) / needed) - 1) + "…";
  if (text.length < 3 && kind.label.length > 2) return;
  if (kind.hatch) {
    pen.fillStyle = kind.colour;
    pen.fillRect(from + 2, y + 1, Math.min(needed, room) + 4, height - 2);
  }
  pen.fillStyle = kind.ink;
  pen.fillText(text, from + 4, y + height / 2 + 0.5);
}

// Past 21 modules colours come again, with dots, rings or thick dots.
function hatch(pen, way, left, y, width, height) {
  pen.save();
  pen.beginPath();
  pen.rect(left, y, width, height);
  pen.clip();
  pen.strokeStyle = pen.fillStyle = "#000a";
  for (let x = left + 3; x < left + width; x += 8) {
    for (let dot = y + 4; dot < y + height; dot += 8) {
      pen.beginPath();
      pen.arc(x, dot, way === 1 ? 1 : 2, 0, 7);
      if (way === 2) pen.stroke();
      else pen.fill();
    }
  }
  pen.restore();
}

// Merged blocks: each colour as high as its share of the time, waits as a band behind, a line below.
function drawMerged(model, view, pen, look, level, i, lane, left, right) {
  const whole = Math.max(level.end[i] - level.start[i], 1), width = right - left;
  let band = lane.y + 0.68 * lane.height, base = lane.y + lane.height, any = false;
  for (const waits of [true, false]) {
    for (let p = level.first[i]; p < level.first[i + 1]; p++) {
      const kind = model.kinds[level.kind[p]], share = Math.min(1, level.time[p] / whole);
      if ((kind.category === "wait") !== waits || !shown(view, kind)) continue;
      const height = waits ? WAIT_HEIGHT * lane.height * share : Math.max(lane.height * share, 0.5);
      pen.fillStyle = kind.colour;
      if (waits) faded(pen, look.waits, () => pen.fillRect(left, (band -= height), width, height));
      else pen.fillRect(left, (base -= height), width, height);
      any = true;
    }
  }
  if (!any || lane.height < 9) return;
  pen.fillStyle = look.soft;
  pen.fillRect(left, lane.y + lane.height, width, 1);
}

// Some entries only, at full strength: those of one TPH.
function drawSome(model, view, pen, look, entries, scroll) {
  const { base } = model, lanes = visibleLanes(model, view, scroll);
  for (const { lane, from, to } of entries) {
    const place = lanes.get(lane);
    if (!place) continue;
    for (let n = from, last = -9; n < to; n++) {
      const i = view.tphList[n], left = xOf(view, base.start[i]), right = xOf(view, base.end[i]);
      if (right < last + 0.7 || right < 0) continue;
      if (left > view.width) break;
      const edges = [Math.max(left, -2), Math.min(right, view.width + 2)].map(Math.round);
      drawBlock(model, view, pen, look, base.kind[base.first[i]], place, ...edges);
      last = right;
    }
  }
}

function visibleLanes(model, view, scroll) {
  const lanes = new Map();
  for (const place of view.places) {
    if (place.y > scroll + view.height || place.y + place.height < scroll) continue;
    for (const lane of place.lanes) lanes.set(lane.lane, lane);
  }
  return lanes;
}

const MOST_LINES = 3000;

// Lines from the hand-over of a tag to its arrival: of the chosen TPH, or all of the window.
function drawLines(model, view, pen, look) {
  const { sent, received, sender, receiver, tph } = model.messages;
  view.lines = { drawn: 0, left: 0 };
  if (!view.tph && !view.layers.lines) return;
  pen.strokeStyle = pen.fillStyle = view.tph ? look.ink : look.soft;
  pen.lineWidth = view.tph ? 1.4 : 0.8;
  pen.globalAlpha = view.tph ? 1 : 0.7;
  const chosen = [];
  for (let i = 0; i < sent.length && chosen.length <= MOST_LINES; i++) {
    if (view.tph && tph[i] !== view.tph) continue;
    if (received[i] < view.begin || sent[i] > view.end || sender[i] === receiver[i]) continue;
    chosen.push(i);
  }
  view.lines = chosen.length > MOST_LINES ? { drawn: 0, left: 1 } : { drawn: chosen.length, left: 0 };
  if (chosen.length <= MOST_LINES) for (const i of chosen) drawLine(view, pen, i, sent, received, sender, receiver);
  pen.globalAlpha = 1;
}

function drawLine(view, pen, i, sent, received, sender, receiver) {
  const from = view.places[sender[i]], to = view.places[receiver[i]];
  const x0 = xOf(view, sent[i]), x1 = xOf(view, received[i]);
  const y0 = from.y + from.main / 2, y1 = to.y + to.main / 2;
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
  pen.beginPath();
  pen.arc(x1, y1, 2, 0, 7);
  pen.fill();
}

// Steps; where several lie in a pixel the greatest is drawn.
function drawSeries(view, pen, look, place) {
  const { series, y, height } = place;
  const top = new Float64Array(Math.ceil(view.width));
  let value = 0, column = 0;
  for (let i = 0; i <= series.count; i++) {
    const x = i < series.count ? xOf(view, series.time[i]) : view.width;
    for (; column < top.length && column < x; column++) top[column] = Math.max(top[column], value);
    if (i === series.count || x >= top.length) break;
    value = series.value[i];
    if (x >= 0) top[Math.floor(x)] = Math.max(top[Math.floor(x)], value);
  }
  for (; column < top.length; column++) top[column] = Math.max(top[column], value);
  pen.fillStyle = look.soft;
  pen.globalAlpha = 0.55;
  top.forEach((value, x) => value && pen.fillRect(x, y + height - (value / series.peak) * height, 1, (value / series.peak) * height));
  pen.globalAlpha = 1;
  pen.fillStyle = look.line;
  pen.fillRect(0, y + height, view.width, 1);
}

// Around calls that failed or never ended, around hits of the search, around what is selected.
function drawOutlines(model, view, pen, look, scroll) {
  const lanes = visibleLanes(model, view, scroll);
  const chosen = view.selected === null ? [] : [view.selected];
  const outlines = [
    [view.unfinished, look.ink, 1.5, [4, 3]], [view.failed, look.failed, 2.5, []],
    [view.found, look.accent, 1.5, []], [chosen, look.ink, 2, []],
  ];
  for (const [entries, colour, width, dashes] of outlines) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.setLineDash(dashes);
    let drawn = 0;
    for (const entry of entries) {
      const x0 = xOf(view, model.base.start[entry]), x1 = xOf(view, model.base.end[entry]);
      if (x1 < 0 || x0 > view.width || drawn > MOST_LINES) continue;
      const lane = lanes.get(laneOf(model, entry));
      if (!lane) continue;
      drawn++;
      const left = Math.max(x0, -4), right = Math.min(Math.max(x1, x0 + 2), view.width + 4);
      pen.strokeRect(left - 0.5, lane.y - 0.5, right - left + 1, lane.height + 1);
    }
  }
}

function drawMarks(model, view, pen, look) {
  if (!view.layers.marks) return;
  pen.fillStyle = look.ink;
  for (const { row, time } of model.marks) {
    const x = xOf(view, time), y = view.places[row].y;
    if (x < -5 || x > view.width + 5) continue;
    pen.beginPath();
    pen.moveTo(x - 4, y - 1);
    pen.lineTo(x + 4, y - 1);
    pen.lineTo(x, y + 7);
    pen.fill();
  }
}

// Ticks at 1, 2 or 5 of a power of ten, 70 pixels apart or more.
function ticksOf(view) {
  const least = 90 / pixels(view), power = 10 ** Math.floor(Math.log10(least));
  const step = Math.max(1, [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least));
  const at = [];
  for (let n = Math.ceil(view.begin / step); n * step <= view.end; n++) at.push(n * step);
  return { step, at };
}

// Far from the origin and at fine steps, ticks are counted from a round time before the window.
function drawRuler(model, view) {
  const pen = prepared(byId("ruler"), view.width, 28), look = styles(), { step, at } = ticksOf(view);
  const far = view.begin > 1e4 * step;
  const origin = far ? Math.floor(view.begin / (100 * step)) * 100 * step : 0;
  const [unit, factor] = unitFor(far ? Math.max(step * 10, 1) : Math.max(view.end, 10 * step));
  const digits = Math.max(0, Math.ceil(Math.log10(factor / step) - 1e-9));
  pen.font = `11px ${FONT}`;
  pen.textBaseline = "middle";
  let free = 0;
  if (far) {
    const text = `${moment(origin, step)} `;
    pen.fillStyle = look.ink;
    pen.fillText(text, 4, 13);
    free = pen.measureText(text).width + 8;
  }
  for (const tick of at) {
    const x = Math.round(xOf(view, tick));
    pen.fillStyle = look.line;
    pen.fillRect(x, 20, 1, 8);
    const text = `${far ? "+" : ""}${((tick - origin) / factor).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`;
    const width = pen.measureText(text).width, left = Math.max(2, x - width / 2);
    if (left < free || left + width > view.width) continue;
    pen.fillStyle = look.soft;
    pen.fillText(text, left, 13);
    free = left + width + 6;
  }
}

// How many ranks are in each module, pixel by pixel, over the whole trace.
function overviewShares(model, view, width) {
  const shares = new Map();
  const level = levelFor(model, (model.end - model.begin) / width);
  const cell = (model.end - model.begin) / width;
  model.lanes.forEach((lane, number) => {
    if (lane.nested) return;
    for (let i = level.from[number]; i < level.from[number + 1]; i++) {
      const from = (level.start[i] - model.begin) / cell, to = (level.end[i] - model.begin) / cell;
      for (let p = level.first[i]; p < level.first[i + 1]; p++) {
        const kind = model.kinds[level.kind[p]];
        if (kind.category === "wait" || !shown(view, kind)) continue;
        if (!shares.has(kind.group)) shares.set(kind.group, new Float64Array(width + 1));
        spread(shares.get(kind.group), from, to, level.time[p] / cell);
      }
    }
  });
  return shares;
}

function spread(cells, from, to, amount) {
  const first = Math.min(Math.floor(from), cells.length - 1), last = Math.min(Math.floor(to), cells.length - 1);
  if (first === last) cells[first] += amount;
  else for (let x = first; x <= last; x++) cells[x] += (amount * (Math.min(to, x + 1) - Math.max(from, x))) / (to - from);
}

function drawOverview(model, view) {
  const height = 46, pen = prepared(byId("overview"), view.width, height), look = styles();
  const width = Math.max(1, Math.floor(view.width)), base = new Float64Array(width + 1).fill(height - 3);
  view.shares ||= overviewShares(model, view, width);
  const sums = base.map((_, x) => [...view.shares.values()].reduce((sum, cells) => sum + cells[x], 0));
  const most = Math.max(1e-9, Math.min(model.rows.length, Math.max(...sums)));
  byId("overview").title = `Ranks in modules, up to ${threeDigits(most)} of ${model.rows.length}: drag to move`;
  for (const group of model.groups) {
    const cells = view.shares.get(group.id);
    if (!cells) continue;
    pen.fillStyle = group.colour;
    cells.forEach((share, x) => {
      const part = (share / most) * (height - 9);
      if (part > 0) pen.fillRect(x, (base[x] -= part), 1, part);
    });
  }
  pen.fillStyle = look.accent;
  const found = new Set(view.found.slice(0, 20000).map((entry) => Math.round(placeIn(model, view, model.base.start[entry]))));
  for (const x of found) pen.fillRect(x, 0, 1, 6);
  const left = placeIn(model, view, view.begin), right = Math.max(placeIn(model, view, view.end), left + 2);
  pen.fillStyle = look.paper;
  pen.globalAlpha = 0.65;
  pen.fillRect(0, 0, left, height);
  pen.fillRect(right, 0, view.width - right, height);
  pen.globalAlpha = 1;
  pen.strokeStyle = look.accent;
  pen.lineWidth = 1.5;
  pen.strokeRect(left + 0.75, 1.5, right - left - 1.5, height - 3);
}

function placeIn(model, view, time) {
  return ((time - model.begin) / (model.end - model.begin)) * view.width;
}
