// What lies over the blocks: lines of hand-overs, marks.

import type { Model } from "./model";
import type { Styles } from "./styles";
import { type View, xOf } from "./view";

const MOST_LINES = 3000;

type Pen = CanvasRenderingContext2D;

// Lines from the hand-over of a tag to its arrival: of the chosen TPH, or all of the window.
export function drawLines(model: Model, view: View, pen: Pen, look: Styles): void {
  const { sent, received, sender, receiver, tph } = model.messages;
  view.lines = { drawn: 0, left: 0 };
  if (!view.tph && !view.layers.lines) return;
  pen.strokeStyle = pen.fillStyle = view.tph ? look.ink : look.soft;
  pen.lineWidth = view.tph ? 1.4 : 0.8;
  pen.globalAlpha = view.tph ? 1 : 0.7;
  const chosen: number[] = [];
  for (let i = 0; i < sent.length && chosen.length <= MOST_LINES; i++) {
    if (view.tph && tph[i] !== view.tph) continue;
    if (received[i] < view.begin || sent[i] > view.end || sender[i] === receiver[i]) continue;
    chosen.push(i);
  }
  view.lines = chosen.length > MOST_LINES ? { drawn: 0, left: 1 } : { drawn: chosen.length, left: 0 };
  if (chosen.length <= MOST_LINES) for (const i of chosen) drawLine(model, view, pen, i);
  pen.globalAlpha = 1;
}

function drawLine(model: Model, view: View, pen: Pen, i: number): void {
  const { sent, received, sender, receiver } = model.messages,
    from = view.places[sender[i]],
    to = view.places[receiver[i]];
  const x1 = xOf(view, received[i]),
    y1 = to.y + to.main / 2;
  pen.beginPath();
  pen.moveTo(xOf(view, sent[i]), from.y + from.main / 2);
  pen.lineTo(x1, y1);
  pen.stroke();
  pen.beginPath();
  pen.arc(x1, y1, 2, 0, 7);
  pen.fill();
}

export function drawMarks(model: Model, view: View, pen: Pen, look: Styles): void {
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
