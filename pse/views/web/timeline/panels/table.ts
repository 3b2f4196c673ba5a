// Tables that a click on a title sorts.

import { element } from "../../shared/elements";
import { counted } from "../../shared/numbers";

export interface Column<T> {
  title: string;
  key(line: T): number | string;
  text(line: T): string | HTMLElement;
}

const MOST = 200; // lines
const order = new Map<string, { by: string; down: boolean }>(); // of tables, by name

// Sorted by the first column of numbers at first, the greatest on top.
export function sortedTable<T>(name: string, columns: Column<T>[], lines: T[], again: () => void): HTMLElement[] {
  const first = columns.find((column) => lines.length && typeof column.key(lines[0]) === "number") ?? columns[0],
    { by, down } = order.get(name) ?? { by: first.title, down: true },
    { key } = columns.find((column) => column.title === by) ?? first,
    made = element("table", undefined, { class: "sorted" }),
    titles = element("tr");
  for (const { title } of columns) {
    const cell = element("th", undefined, { scope: "col" }),
      button = element("button", title, { type: "button" });
    if (title === by) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
    button.onclick = () => {
      order.set(name, { by: title, down: title === by ? !down : typeof columns.find((one) => one.title === title)!.key(lines[0]) === "number" });
      again();
    };
    cell.append(button);
    titles.append(cell);
  }
  const turn = down ? -1 : 1,
    sorted = [...lines].sort((a, b) => (key(a) < key(b) ? -turn : key(a) > key(b) ? turn : 0));
  made.append(titles, ...sorted.slice(0, MOST).map((line) => lineOf(columns, line)));
  const more = lines.length - MOST,
    holder = element("div", undefined, { class: "scrolled" });
  holder.append(made);
  return more > 0 ? [holder, element("p", `and ${counted(more, "more line")}`)] : [holder];
}

function lineOf<T>(columns: Column<T>[], line: T): HTMLElement {
  const made = element("tr");
  for (const { text, key } of columns) {
    const cell = element("td", undefined, typeof key(line) === "number" ? {} : { class: "text" });
    cell.append(text(line));
    made.append(cell);
  }
  return made;
}
