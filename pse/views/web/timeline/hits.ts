// The list of hits: a table of blocks, sorted by any of its columns.

import { byId, element, refill } from "../shared/elements";
import { counted, duration, moment } from "../shared/numbers";
import { kindOf } from "./causes";
import { laneOf } from "./data/levels";
import type { Model, Row } from "./data/model";

const MOST = 300; // lines of the table

type Column = "start" | "duration" | "what" | "row";

let sorted: { by: Column; down: boolean } = { by: "start", down: false };

export function showHitList(model: Model, found: number[], choose: (entry: number) => void): void {
  const card = byId("hitlist"),
    again = () => showHitList(model, found, choose);
  if (card.hidden) return;
  const titles = element("tr");
  for (const column of ["start", "duration", "what", "row"] as Column[]) {
    const title = element("button", column, { type: "button" }),
      cell = element("th", undefined, { scope: "col" });
    if (sorted.by === column) cell.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
    title.onclick = () => {
      sorted = { by: column, down: sorted.by === column ? !sorted.down : column === "duration" };
      again();
    };
    cell.append(title);
    titles.append(cell);
  }
  const table = element("table");
  table.append(titles, ...inOrder(model, found).slice(0, MOST).map((entry) => line(model, entry, choose)));
  const more = found.length - MOST;
  const rest = more > 0 ? [element("p", `and ${counted(more, "more hit")}; sort, or ask for less`)] : [];
  refill(card, [table, ...rest]);
}

const rowOf = (model: Model, entry: number): Row => model.rows[model.lanes[laneOf(model.base, entry)].row];

function inOrder(model: Model, found: number[]): number[] {
  const { start, end } = model.base;
  const keys: Record<Column, (entry: number) => number | string> = {
    start: (entry) => start[entry],
    duration: (entry) => end[entry] - start[entry],
    what: (entry) => kindOf(model, entry).label,
    row: (entry) => rowOf(model, entry).rank,
  };
  const key = keys[sorted.by],
    turn = sorted.down ? -1 : 1;
  return found
    .map((entry) => ({ entry, key: key(entry) }))
    .sort((a, b) => turn * (a.key < b.key ? -1 : a.key > b.key ? 1 : 0) || a.entry - b.entry)
    .map(({ entry }) => entry);
}

function line(model: Model, entry: number, choose: (entry: number) => void): HTMLElement {
  const { start, end } = model.base,
    length = end[entry] - start[entry],
    made = element("tr", undefined, { "data-entry": entry }),
    first = element("td"),
    button = element("button", moment(start[entry], Math.max(1, length / 100)), { type: "button" });
  button.onclick = () => choose(entry);
  first.append(button);
  made.append(
    first,
    ...[duration(length), kindOf(model, entry).label, rowOf(model, entry).label].map((text) => element("td", text)),
  );
  return made;
}
