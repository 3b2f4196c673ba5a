// The page: reads the trace, draws when something has changed, and turns keys and mouse into changes.

import { byId } from "../shared/elements";
import { forgetOverview } from "./drawing/axis";
import { chainAt } from "./causes";
import { flowsOf } from "./drawing/flows";
import { buildRowChoice } from "./drawing/gutter";
import { listen } from "./input";
import { accounted, buildLayers, buildLegend, showNumbers } from "./legend";
import { readModel } from "./data/model";
import { buildHeading } from "./panel";
import { Timeline } from "./timeline";
import { pathParts } from "./drawing/path";
import { statisticsOf } from "./data/statistics";
import { xOf } from "./view";

export async function start(): Promise<void> {
  const model = await readModel(),
    timeline = new Timeline(model),
    { view } = timeline;
  buildHeading(model);
  buildLegend(model, view, () => {
    forgetOverview();
    timeline.changed();
  });
  buildLayers(model, view, timeline.arrange);
  buildRowChoice(timeline);
  listen(timeline);
  timeline.widenGutter();
  new ResizeObserver(timeline.resize).observe(byId("rows"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", timeline.changed);
  timeline.resize();
  timeline.draw();
  timeline.followLink();
  showNumbers(model, view);
  byId("loading").remove();
  // For the console, and for tests.
  const gantt = {
    model,
    view,
    timeline,
    xOf: (time: number) => xOf(view, time),
    chainAt: (row: number, time: number) => chainAt(model, row, time),
    pathParts: (begin: number, end: number) => pathParts(model, begin, end),
    flowsOf: (entry: number, row: number) => flowsOf(model, entry, row),
    statisticsOf: (begin: number, end: number) => statisticsOf(model, begin, end),
    accounted: (begin: number, end: number) => accounted(model, begin, end),
  };
  Object.assign(globalThis, { gantt });
}
