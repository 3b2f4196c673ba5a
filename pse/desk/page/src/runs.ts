// Runs: started, watched, stopped, kept in a list, compared, and explained.

import { forgetConsoles, printed } from "./console";
import { query, request, ServerError } from "./http";
import { drawGraph, leave, loadPalette, openProgram, program, save, view } from "./program";
import { frameTaken, statusWanted } from "./live";
import type { Advice, Comparison, Overview, Problem, Run, ServerEvent, Sites } from "./protocol";
import { keepOpen } from "./socket";
import { source } from "./sources";
import { type Desk, desk, note, report, say, update } from "./store";
import { applyChanges } from "./text/editor";

export interface RunRequest {
  processors: number;
  parameters: Record<string, string>;
  options: Record<string, string>;
  trace: boolean;
  checkpoint: boolean;
  cluster: string | null;
}

export interface RunDetails {
  run: Run;
  report: Record<string, unknown> | null;
  overview: Overview | null;
  program: string;
}

export const going = (run: Run | undefined) =>
  run !== undefined && ["preparing", "running", "stopping"].includes(run.state);

export const shownRun = () => desk().runs.find((run) => run.id === desk().shownRun);

export async function listRuns() {
  const { runs } = await request<{ runs: Run[] }>("GET", "runs");
  update({ runs, ...shownIfNone(runs.find(going)) });
}

/** A page that is opened while a run goes on shows it. */
const shownIfNone = (run: Run | undefined): Partial<Desk> =>
  going(run) && desk().shownRun === null ? { shownRun: run!.id, drawer: desk().drawer ?? "run" } : {};

/** Save the program, and run it: what is on the disk runs. */
export async function start(asked: RunRequest) {
  const { file } = desk();
  if (!file || (file.changed && !(await save()))) return;
  try {
    const { run } = await request<{ run: Run }>("POST", "runs", { program: file.path, serial: false, ...asked });
    took(run);
    rememberPlaces(run);
    update({ shownRun: run.id, sites: null, colouring: "thread", drawer: "run", message: null });
  } catch (error) {
    report(error);
    if (error instanceof ServerError && error.diagnostics.some(isShown)) update({ drawer: "problems" });
  }
}

/** Whether an error is one of the program's text: values of parameters have theirs too. */
const isShown = ({ code }: Problem) => desk().graph?.diagnostics.some((one) => one.code === code) ?? false;

export async function stop(id: string) {
  await request<{ run: Run }>("POST", `runs/${id}/stop`).then(({ run }) => took(run), report);
}

export async function forget(id: string) {
  await request("DELETE", `runs/${id}`).catch(report);
  update({ runs: desk().runs.filter((run) => run.id !== id), shownRun: desk().shownRun === id ? null : desk().shownRun });
}

/** Show a run in the panel; after its end its times are on the graph. */
export async function showRun(id: string) {
  update({ shownRun: id, sites: null });
  placesIfSame(id);
  const run = shownRun()!;
  if (!desk().ranAt[id]) note("The program has changed since this run: its times are not on the graph.");
  else if (run.state === "done") await loadSites(id);
}

/** Note where statements stand in the text that runs: it may be edited meanwhile. */
function rememberPlaces(run: Run) {
  const { graph, ranAt } = desk();
  const statements = [...(graph?.nodes ?? []), ...(graph?.frames ?? [])];
  const places = new Map(statements.map(({ id, line, column }) => [id, { line, column }]));
  update({ ranAt: { ...ranAt, [run.id]: places } });
}

/** The same for a run of earlier, if the open text is the one that ran. */
function placesIfSame(id: string) {
  const { file, graph, runs } = desk();
  const run = runs.find((one) => one.id === id);
  if (run && graph && file?.revision === run.revision && !file.changed) rememberPlaces(run);
}

async function loadSites(id: string) {
  const sites = await request<Sites>("GET", `runs/${id}/sites`).catch(() => null);
  if (desk().shownRun === id) update({ sites, colouring: sites?.sites.length ? "time" : "thread" });
}

export const details = (id: string) => request<RunDetails>("GET", `runs/${id}`);

export const compare = (left: string, right: string) =>
  request<Comparison>("GET", `compare?${query({ left, right })}`);

export const advice = (id: string) => request<Advice>("POST", `runs/${id}/advice`, {});

/** Take a proposal into the text of the program that it is for, and run that as it was run. */
export async function acceptAndRun(proposed: string, run: Run) {
  if (program.file?.path !== run.program && !(await leave(() => openProgram(run.program)))) return;
  const [ran, { rebased }] = await Promise.all([details(run.id), import("./rebase")]);
  const changes = rebased(plain(ran.program), plain(proposed), program.text);
  if (!changes) return say("The program has been changed where the proposal changes it.", "Make the change by hand, or run it again and ask for a proposal.");
  applyChanges(view, changes);
  const { processors, parameters, options, trace, checkpoint, cluster } = run;
  await start({ processors, parameters, options, trace, checkpoint, cluster });
}

const plain = (text: string) => text.replace(/\r\n?/g, "\n");

// What the server tells by itself.

export function watchServer() {
  keepOpen("events", {
    opened: () => {
      forgetConsoles();
      void listRuns().catch(() => null);
    },
    received: (text) => told(JSON.parse(text)),
    lost: () => undefined,
  });
}

function told(event: ServerEvent) {
  switch (event.type) {
    case "run":
      return took(event.run);
    case "console":
      return printed(event);
    case "overview":
      if (!desk().ranAt[event.run]) placesIfSame(event.run);
      statusWanted(event.run);
      return update({ overviews: { ...desk().overviews, [event.run]: event.overview } });
    case "frame":
      return frameTaken(event);
    case "file":
      void source.changedOnDisk(event.path, event.revision).catch(report);
      void program.changedOnDisk(event.path, event.revision).catch(report);
      return void (event.path !== program.file?.path && drawGraph().then(loadPalette));
  }
}

function took(run: Run) {
  const { runs } = desk();
  const before = runs.find((one) => one.id === run.id);
  const known = before ? runs.map((one) => (one.id === run.id ? run : one)) : [run, ...runs];
  update({ runs: known, ...shownIfNone(run) });
  if (going(before) && !going(run)) ended(run);
}

function ended(run: Run) {
  if (run.state === "done" && desk().shownRun === run.id && desk().ranAt[run.id]) void loadSites(run.id);
  if (run.state === "failed") say(`The run failed: ${run.error?.message ?? "see its console"}`, run.error?.help);
  else note(run.state === "stopped" ? "The run was stopped." : "The run is done: the graph shows where its time went.");
}
