// Names of the rows: a processor's name folds its rows, a row's name pins or hides it.

import { byId, element, refill } from "../../shared/elements";
import { bytes, counted, moment } from "../../shared/numbers";
import type { Row } from "../data/model";
import { byTime, nameOf, type Order, type Unit } from "../rows";
import type { TimelineState } from "../state";
import { grouped, type Place, type View } from "../view";

export function fillGutter(timeline: TimelineState): void {
  const { model, view } = timeline,
    parts: HTMLElement[] = [],
    together = grouped(view);
  let before: string | undefined,
    free = 0;
  for (const index of view.order) {
    const row = model.rows[index],
      place = view.places[index];
    if (together && row.group && row.group !== before && place.y >= free) {
      parts.push(processorName(timeline, row, place));
      free = place.y + 14;
    }
    before = row.group;
    if (place.main >= 11 || ((!row.group || !together) && place.y >= free)) {
      if (!row.group || !together) free = place.y + 14;
      parts.push(rowName(timeline, index, together, place));
    }
    for (const { lane, y, height } of place.lanes)
      if (model.lanes[lane].run && height >= 11) parts.push(at(element("span", "second run", { class: "lane" }), y, height));
    for (const { series, y, height } of place.series) {
      const text = series.name === "memory" ? `memory ≤ ${bytes(series.peak)}` : `queues ≤ ${series.peak}`;
      parts.push(at(element("span", text, { class: "lane" }), y, height));
    }
  }
  refill(byId("gutter"), parts);
  showRowNote(timeline);
}

// A click pins a row to the top, or lets it go; with Alt, or the right button, it hides it.
function rowName(timeline: TimelineState, index: number, together: boolean, place: Place): HTMLElement {
  const { choice, alike, together: ranks } = timeline.view,
    row = timeline.model.rows[index],
    others = alike.get(index)?.length ?? 0,
    pinned = choice.pinned.has(index),
    members = ranks.get(index)?.length ?? 0,
    name = nameOf(timeline.model, choice, index),
    text = members || together || !row.group ? name : `${row.group} ${name}`,
    where = members ? `${name}, ${counted(members, "rank")} drawn as one: heights are shares of all their time` : row.where;
  const made = element("span", others ? `${text} +${others}` : text, {
    role: "button",
    tabindex: 0,
    class: together ? "thread" : "thread wide",
    "aria-pressed": pinned,
    title: `${where}${others ? `, and ${counted(others, "row")} like it` : ""}\nclick: ${pinned ? "unpin" : "pin to the top"} · right button, or Alt and click: hide`,
  });
  const choose = (hide: boolean) => {
    if (hide) choice.hidden.add(index);
    else if (pinned) choice.pinned.delete(index);
    else choice.pinned.add(index);
    timeline.chooseRows();
  };
  made.onclick = (event) => choose(event.altKey);
  made.onkeydown = (event) => {
    if (["Enter", " "].includes(event.key)) (event.preventDefault(), choose(event.altKey));
  };
  made.oncontextmenu = (event) => (event.preventDefault(), choose(true)); // A finger that rests, too.
  return at(made, place.y, Math.max(12, place.main));
}

function processorName(timeline: TimelineState, row: Row, place: Place): HTMLElement {
  const { folded } = timeline.view,
    open = !folded.has(row.group);
  const made = element("button", row.group, {
    type: "button",
    class: "processor",
    "aria-expanded": open,
    title: "Fold or unfold its rows",
  });
  made.onclick = () => {
    if (open) folded.add(row.group);
    else folded.delete(row.group);
    timeline.arrange();
  };
  return at(made, place.y, Math.max(14, place.main));
}

function at<T extends HTMLElement>(made: T, y: number, height: number): T {
  made.style.top = `${y}px`;
  made.style.height = made.style.lineHeight = `${height}px`;
  return made;
}

// How rows are chosen: order, one for all that are alike, hidden ones again.
export function buildRowChoice(timeline: TimelineState): void {
  const { choice } = timeline.view,
    order = byId<HTMLSelectElement>("order"),
    by = byId<HTMLSelectElement>("by"),
    alike = byId<HTMLInputElement>("alike");
  [order.value, by.value, alike.checked] = [choice.order, choice.by, choice.alike];
  by.querySelector<HTMLOptionElement>("[value=processor]")!.hidden = timeline.model.rows.every((row) => !row.group);
  order.onchange = () => {
    choice.order = order.value as Order;
    timeline.sortRows();
  };
  by.onchange = () => {
    choice.by = by.value as Unit;
    choice.pinned.clear();
    choice.hidden.clear();
    timeline.chooseRows();
  };
  alike.onchange = () => {
    choice.alike = alike.checked;
    timeline.sortRows();
  };
  byId("again").onclick = timeline.sortRows;
  byId("unhide").onclick = () => {
    choice.hidden.clear();
    timeline.chooseRows();
  };
}

// Offers to sort rows by the window, if that isn't the one by which they are.
export function showSorted({ choice, begin, end }: View): void {
  const [from, to] = choice.sorted;
  byId("again").hidden = !byTime(choice) || (from === begin && to === end);
  byId("again").title = `Rows are chosen by the time from ${moment(from, (to - from) / 1000, to)} to ${moment(to, (to - from) / 1000)}`;
}

// Says what isn't shown.
function showRowNote({ model, view }: TimelineState): void {
  const hidden = view.choice.hidden.size,
    stand = [...view.alike.values()].reduce((sum, others) => sum + others.length, 0);
  byId("unhide").hidden = !hidden;
  byId("unhide").textContent = `show ${hidden} hidden`;
  const all = view.together.size || model.rows.length;
  byId("rownote").textContent = stand ? `${view.order.length} of ${all} rows` : view.together.size ? `of ${model.rows.length} ranks` : "";
}
