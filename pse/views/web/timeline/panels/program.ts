// The program's text, with the time of each line's calls beside it.

import { element } from "../../shared/elements";
import { counted, duration, percent } from "../../shared/numbers";
import { kindOf } from "../causes";
import type { Model } from "../data/model";
import { siteTimes, type SiteTimes } from "../data/sites";
import type { Panel } from "./panel";

export const programPanel: Panel = {
  id: "program",
  title: "Program",
  there: (model) => model.program.lines.length > 0 && model.graph.nodes.length > 0,
  fill({ model, view, searchFor }, begin, end) {
    const times = lineTimes(model, begin, end),
      whole = (end - begin) * model.rows.length,
      here = view.selected === null ? -1 : lineOf(model, kindOf(model, view.selected).place),
      made = element("table", undefined, { class: "program" });
    made.append(titles());
    model.program.lines.forEach((text, number) => {
      const line = lineElement(text, number + 1, times.get(number + 1), whole);
      if (number + 1 === here) line.setAttribute("aria-current", "true");
      if (times.has(number + 1)) line.onclick = () => searchFor(`place ~ "${model.program.name}:${number + 1}:"`);
      made.append(line);
    });
    const holder = element("div", undefined, { class: "scrolled" });
    holder.append(made);
    return [holder];
  },
};

// Of each line of the program that has calls, the sum of these.
export function lineTimes(model: Model, begin: number, end: number): Map<number, SiteTimes> {
  const found = new Map<number, SiteTimes>();
  siteTimes(model, begin, end).forEach((times, node) => {
    const line = lineOf(model, model.graph.nodes[node].place),
      sum = found.get(line) ?? { calls: 0, time: 0, waits: 0, waiting: 0 };
    if (line < 1) return;
    for (const name of ["calls", "time", "waits", "waiting"] as const) sum[name] += times[name];
    found.set(line, sum);
  });
  return found;
}

// The line of a place in the program: ``file:line:column``; in a segment, which a line calls, that of the inner call.
function lineOf({ program }: Model, place: string): number {
  const [file, first] = place.split(":"),
    inner = place.split("→").at(-1)!.trim().split(":");
  if (file !== program.name) return -1;
  return Number(place.includes("→") ? inner.at(-2) : first);
}

function titles(): HTMLElement {
  const made = element("tr");
  made.append(...["time", "share", "calls", "waited for", "", ""].map((title) => element("th", title, { scope: "col" })));
  return made;
}

// Of a line with calls it is a button, for keyboards.
function numberCell(number: number, timed: boolean): HTMLElement {
  const made = element("td", timed ? undefined : String(number), { class: "number" });
  if (timed) made.append(element("button", String(number), { type: "button", "aria-label": `Line ${number}: find its calls and waits` }));
  return made;
}

function lineElement(text: string, number: number, times: SiteTimes | undefined, whole: number): HTMLElement {
  const made = element("tr", undefined, times ? { class: "timed", title: "Find its calls and waits" } : {}),
    cells = times
      ? [duration(times.time), percent(times.time / whole), counted(times.calls, "call").split(" ")[0], times.waiting ? duration(times.waiting) : ""]
      : ["", "", "", ""];
  made.append(...cells.map((cell) => element("td", cell)), numberCell(number, Boolean(times)));
  const code = element("td", text || " ", { class: "code" });
  if (times) code.style.setProperty("--share", `${(100 * times.time) / whole}%`);
  made.append(code);
  return made;
}
