// What lies over the blocks: lines of hand-overs, series below rows, outlines, marks.

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
  if (chosen.length <= MOST_LINES)
    for (const i of chosen) drawLine(view, pen, i, sent, received, sender, receiver);
  pen.globalAlpha = 1;
}

function drawLine(view, pen, i, sent, received, sender, receiver) {
  const from = view.places[sender[i]],
    to = view.places[receiver[i]];
  const x0 = xOf(view, sent[i]),
    x1 = xOf(view, received[i]);
  const y0 = from.y + from.main / 2,
    y1 = to.y + to.main / 2;
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
  let value = 0,
    column = 0;
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
  top.forEach(
    (value, x) =>
      value &&
      pen.fillRect(x, y + height - (value / series.peak) * height, 1, (value / series.peak) * height),
  );
  pen.globalAlpha = 1;
  pen.fillStyle = look.line;
  pen.fillRect(0, y + height, view.width, 1);
}

// Around calls that failed or never ended, around hits of the search, around what is selected.
function drawOutlines(model, view, pen, look, scroll) {
  const lanes = visibleLanes(model, view, scroll);
  const chosen = outlined(model, view.selected === null ? [] : [view.selected]);
  drawOutline(model, view, pen, lanes, view.unfinished, look.ink, 1.5, [4, 3]);
  drawOutline(model, view, pen, lanes, view.failed, look.failed, 2.5, []);
  drawOutline(model, view, pen, lanes, view.hits, look.accent, 1.5, []);
  drawOutline(model, view, pen, lanes, chosen, look.ink, 2, []);
}

// Entries by time with their lanes; `longest`: how far before the window one that reaches into it may begin.
function outlined(model, entries) {
  const { start, end } = model.base;
  const longest = entries.reduce((most, entry) => Math.max(most, end[entry] - start[entry]), 0);
  return { entries, lanes: Uint32Array.from(entries, (entry) => laneOf(model, entry)), longest };
}

function drawOutline(model, view, pen, lanes, { entries, lanes: numbers, longest }, colour, width, dashes) {
  const { start, end } = model.base,
    drawn = new Map(); // Up to which pixel, lane by lane.
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = width;
  pen.setLineDash(dashes);
  for (
    let n = firstFrom(entries, start, view.begin - longest);
    n < entries.length && start[entries[n]] <= view.end;
    n++
  ) {
    const lane = lanes.get(numbers[n]),
      right = xOf(view, end[entries[n]]);
    if (!lane || right < 0 || right < (drawn.get(numbers[n]) ?? -9) + 1) continue;
    const left = Math.max(xOf(view, start[entries[n]]), -4),
      last = Math.min(Math.max(right, left + 2), view.width + 4);
    if (last - left < 4 && entries.length > 1)
      pen.fillRect(left, lane.y - 3, last - left, 3); // Many outlines would hide all.
    else pen.strokeRect(left - 0.5, lane.y - 0.5, last - left + 1, lane.height + 1);
    drawn.set(numbers[n], last);
  }
  pen.setLineDash([]);
}

// The first of entries by time that begins at a time or later.
function firstFrom(entries, start, time) {
  let low = 0,
    high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start[entries[middle]] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function drawMarks(model, view, pen, look) {
  if (!view.layers.marks) return;
  pen.fillStyle = look.ink;
  for (const { row, time } of model.marks) {
    const x = xOf(view, time),
      y = view.places[row].y;
    if (x < -5 || x > view.width + 5) continue;
    pen.beginPath();
    pen.moveTo(x - 4, y - 1);
    pen.lineTo(x + 4, y - 1);
    pen.lineTo(x, y + 7);
    pen.fill();
  }
}
