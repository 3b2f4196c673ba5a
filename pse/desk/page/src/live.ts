// A run that goes on, from the page: held and changed, and its data as it comes.

import { request } from "./http";
import type { ControlStatus, Frame } from "./protocol";
import { desk, report, update } from "./store";

const asking = new Set<string>();

export type Action =
  | { action: "status" | "pause" | "resume" | "checkpoint" }
  | { action: "step"; rounds: number }
  | { action: "set"; values: Record<string, string> };

/** The answer has no status while the run starts. */
const ask = (run: string, action: Action) => request<{ status: ControlStatus | null }>("POST", `runs/${run}/control`, action);

const know = (run: string, status: ControlStatus | null) =>
  status && update({ controls: { ...desk().controls, [run]: status } });

/** Null if it was refused. */
export async function control(run: string, action: Action) {
  const answer = await ask(run, action).catch(report);
  if (answer) know(run, answer.status);
  return answer;
}

/** Find out once what a run has, as soon as it can be asked. */
export function statusWanted(run: string) {
  if (desk().controls[run] || asking.has(run)) return;
  asking.add(run);
  void ask(run, { action: "status" })
    .then(({ status }) => know(run, status))
    .catch(() => null)
    .finally(() => asking.delete(run));
}

export async function watch(run: string, tags: string[]) {
  const answer = await request<{ tags: string[] }>("POST", `runs/${run}/watch`, { tags }).catch(report);
  if (answer) update({ watched: { ...desk().watched, [run]: answer.tags } });
}

export const frameKey = (run: string, tag: string) => `${run} ${tag}`;

export function frameTaken(frame: Frame) {
  update({ frames: { ...desk().frames, [frameKey(frame.run, frame.tag)]: frame } });
}
