// A run: how it is started, what it prints, how far it is, and what its threads do.

import { type FormEvent, useEffect, useRef } from "react";
import { isWhole, loadConsole } from "../console";
import { bytes, duration, percent } from "../../../../views/web/shared/numbers";
import { progressText } from "../graph/measures";
import type { Overview, ProgramGraph, Run } from "../protocol";
import { going, type RunRequest, start, stop } from "../runs";
import { type Console, useDesk } from "../store";
import { Choices } from "./fields";
import { Live } from "./Live";

export function RunPanel() {
  const graph = useDesk((desk) => desk.graph);
  const run = useDesk((desk) => desk.runs.find((one) => one.id === desk.shownRun));
  const shown = useDesk((desk) => desk.shownRun);
  const console = useDesk((desk) => (desk.shownRun ? desk.consoles[desk.shownRun] : undefined));
  const overview = useDesk((desk) => (desk.shownRun ? desk.overviews[desk.shownRun] : undefined));
  const unknown = console === undefined;
  useEffect(() => {
    if (shown && unknown) void loadConsole(shown);
  }, [shown, unknown]);
  return (
    <div className="run">
      <RunForm graph={graph} run={run} />
      {run && <Status run={run} overview={overview} />}
      {run?.state === "running" && <Live run={run.id} />}
      <div className="watch">
        {run && overview && <Numbers run={run} overview={overview} />}
        {shown && console && <ConsoleText run={shown} console={console} />}
      </div>
    </div>
  );
}

// What is asked before a run.

function RunForm({ graph, run }: { graph: ProgramGraph | null; run?: Run }) {
  const session = useDesk((desk) => desk.session);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void start(asked(new FormData(event.currentTarget), graph));
  };
  const busy = going(run);
  return (
    <form className="run-form" id="run-form" onSubmit={submit}>
      <label>
        Processors
        <input name="processors" type="number" min={1} max={4096} defaultValue={session?.processors ?? 2} />
      </label>
      {graph?.parameters.map(({ name, type, default: value, where }) => (
        <label key={name} title={where ? `where ${where}` : type}>
          {name}
          <input name={`parameter ${name}`} placeholder={value ?? "needed"} required={value === null} spellCheck={false} />
        </label>
      ))}
      <label className="wide">
        Options
        <input name="options" placeholder="queue_depth=4 arena=1GiB" list="run-options" spellCheck={false} />
        <Choices id="run-options" choices={(session?.options ?? []).map((name) => `${name}=`)} />
      </label>
      {!!session?.clusters.length && <ClusterField clusters={session.clusters} />}
      <label>
        Trace
        <input name="trace" type="checkbox" defaultChecked />
      </label>
      <label title="The run writes checkpoints from time to time, when you ask for one, and when it is stopped">
        Checkpoints
        <input name="checkpoint" type="checkbox" />
      </label>
      <button className="main" disabled={busy || !graph?.name}>
        Run
      </button>
      <button type="button" disabled={!busy || run?.state === "stopping"} onClick={() => void stop(run!.id)}>
        Stop
      </button>
    </form>
  );
}

function ClusterField({ clusters }: { clusters: string[] }) {
  return (
    <label>
      Where
      <select name="cluster">
        <option value="">this machine</option>
        {clusters.map((name) => (
          <option key={name} value={name}>
            cluster {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function asked(form: FormData, graph: ProgramGraph | null): RunRequest {
  const text = (name: string) => String(form.get(name) ?? "").trim();
  const given = (graph?.parameters ?? []).map(({ name }) => [name, text(`parameter ${name}`)]);
  const options = text("options").split(/\s+/).filter(Boolean).map((word) => word.split("="));
  return {
    processors: Number(text("processors")),
    parameters: Object.fromEntries(given.filter(([, value]) => value)),
    options: Object.fromEntries(options.map(([name, ...value]) => [name, value.join("=")])),
    trace: form.has("trace"),
    checkpoint: form.has("checkpoint"),
    cluster: text("cluster") || null,
  };
}

// How a run goes.

function Status({ run, overview }: { run: Run; overview?: Overview }) {
  const time = run.wall ?? overview?.seconds ?? run.seconds;
  return (
    <p role="status" data-state={run.state}>
      <b>{run.program}</b> · {run.state} · {run.processors} processors{time ? ` · ${duration(1e9 * time)}` : ""}
      {run.error && (
        <span className="error">
          {" "}
          {run.error.message} {run.error.help}
        </span>
      )}
      {overview?.loops.map((loop) => (
        <span key={loop.name}>
          {" · "}
          {loop.name} {progressText(loop)}{" "}
          {loop.total !== null && !loop.bound && <Meter share={loop.done / Math.max(loop.total, 1)} />}
        </span>
      ))}
    </p>
  );
}

/** What ranks do; those of a run that is stopped end as if they had failed. */
const doing = (state: string, run: Run) => (run.state === "stopping" || run.state === "stopped" ? state.replaceAll("failed", run.state) : state);

function Numbers({ run, overview }: { run: Run; overview: Overview }) {
  return (
    <table>
      <thead>
        <tr>
          <th>Thread</th>
          <th>Ranks</th>
          <th>In modules</th>
          <th>CPU</th>
          <th>Now</th>
        </tr>
      </thead>
      <tbody>
        {overview.threads.map((one) => (
          <tr key={one.thread}>
            <td>{one.thread}</td>
            <td>{one.ranks}</td>
            <td>
              <Meter share={one.busy} /> {percent(one.busy)}
            </td>
            <td>{percent(one.cpu)}</td>
            <td>{doing(one.state, run)}</td>
          </tr>
        ))}
        {overview.memory.map((one) => (
          <tr key={one.node}>
            <td>memory of {one.node}</td>
            <td />
            <td colSpan={3}>
              <Meter share={one.in_use / one.capacity} /> {bytes(one.in_use)} of {bytes(one.capacity)}, at most{" "}
              {bytes(one.peak)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}


function Meter({ share }: { share: number }) {
  return (
    <span className="meter">
      <i style={{ width: `${100 * Math.min(share, 1)}%` }} />
    </span>
  );
}

/** What a run prints; it follows the end unless the reader has scrolled up. */
function ConsoleText({ run, console: { parts, cut } }: { run: string; console: Console }) {
  const shown = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const body = shown.current?.closest(".body");
    if (body && body.scrollHeight - body.scrollTop - body.clientHeight < 120) body.scrollTop = body.scrollHeight;
  }, [parts]);
  return (
    <pre className="console" ref={shown} aria-label="Console">
      {cut && <span className="note">{`… what it printed before this is in .pse/runs/${run}/console.txt\n`}</span>}
      {parts.map((part) => (
        <span key={part.number} className={`${part.stream === "stderr" ? "err" : part.stream} ${isWhole(part) ? "whole" : ""}`}>
          {part.text}
        </span>
      ))}
    </pre>
  );
}
