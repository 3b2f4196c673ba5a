// The runs that are kept: their times and reports; two of them compared; what the advisor proposes.

import { useEffect, useRef, useState } from "react";
import { duration } from "../../../../views/web/shared/numbers";
import { query } from "../http";
import type { Advice, Comparison, Run } from "../protocol";
import { acceptAndRun, advice, compare, details, forget, going, showRun } from "../runs";
import { desk, report, useDesk } from "../store";
import { TimeLine } from "./TimeLine";

type Shown = { kind: "report"; text: string } | { kind: "picture"; address: string } | { kind: "timeline"; run: Run } | { kind: "advice"; run: Run; advice: Advice } | { kind: "comparison"; of: Run[]; made: Comparison };

export function Runs() {
  const runs = useDesk((desk) => desk.runs);
  const [marked, setMarked] = useState<string[]>([]);
  const [shown, setShown] = useState<Shown | null>(null);
  const chosen = useDesk((desk) => desk.shownRun);
  const compared = marked.filter((id) => runs.some((run) => run.id === id));
  useEffect(() => setShown(null), [chosen]);
  if (runs.length === 0) return <p>No run yet: Ctrl+Enter runs the program.</p>;
  const mark = (id: string) => setMarked(compared.includes(id) ? compared.filter((one) => one !== id) : [...compared, id].slice(-2));
  return (
    <div className="runs">
      <table>
        <thead>
          <tr>
            {["Compare", "Program", "State", "Started", "Processors", "Parameters", "Time", ""].map((title) => (
              <th key={title}>{title}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <RunRow key={run.id} run={run} chosen={run.id === chosen} marked={compared.includes(run.id)} mark={() => mark(run.id)} show={setShown} />
          ))}
        </tbody>
      </table>
      <button disabled={compared.length !== 2} onClick={() => void compareThem(compared, setShown)}>
        Compare the two
      </button>
      {shown && <Result shown={shown} />}
    </div>
  );
}

interface RowProps {
  run: Run;
  chosen: boolean;
  marked: boolean;
  mark: () => void;
  show: (shown: Shown) => void;
}

function RunRow({ run, chosen, marked, mark, show }: RowProps) {
  const parameters = Object.entries(run.parameters).map(([name, value]) => `${name}=${value}`);
  const over = !going(run);
  return (
    <tr className={chosen ? "chosen" : ""} data-run={run.id}>
      <td>
        <input type="checkbox" aria-label={`Compare ${run.id}`} checked={marked} onChange={mark} />
      </td>
      <td>{run.program}</td>
      <td title={run.error?.message}>{run.state}</td>
      <td>{begun(run)}</td>
      <td>{run.processors}</td>
      <td>{parameters.join(" ")}</td>
      <td>{run.wall === null ? "" : duration(1e9 * run.wall)}</td>
      <td>
        <button onClick={() => void showRun(run.id)}>Show</button>{" "}
        <button disabled={!over} onClick={() => void showReport(run, show)}>
          Report
        </button>{" "}
        <button disabled={!over || !run.trace} onClick={() => show({ kind: "picture", address: ganttOf(run) })}>
          Gantt
        </button>{" "}
        <button disabled={!over || !run.trace} onClick={() => show({ kind: "timeline", run })}>
          Time line
        </button>{" "}
        <button disabled={!over || !run.trace} onClick={() => void showAdvice(run, show)}>
          Advice
        </button>{" "}
        <button disabled={!over} onClick={() => void forget(run.id)}>
          Delete
        </button>
      </td>
    </tr>
  );
}

const begun = (run: Run) => new Date(run.started).toLocaleString();

/** The picture of a run, of the selected call's calls if one is selected. */
function ganttOf(run: Run): string {
  const node = desk().graph?.nodes.find((one) => one.call && desk().selection.has(one.id));
  return `api/runs/${run.id}/picture?${query({ view: "gantt", ...(node ? { label: node.label } : {}) })}`;
}

async function showReport(run: Run, show: (shown: Shown) => void) {
  const found = await details(run.id).catch(report);
  if (found) show({ kind: "report", text: String(found.report?.text ?? "This run has no report.") });
}

async function showAdvice(run: Run, show: (shown: Shown) => void) {
  show({ kind: "report", text: "The advisor reads the trace and tries other assignments of threads…" });
  const found = await advice(run.id).catch(report);
  if (!found) show({ kind: "report", text: "The advisor has no answer." });
  else show({ kind: "advice", run, advice: found });
}

/** The run that began first stands on the left: the change is what has come since. */
async function compareThem(ids: string[], show: (shown: Shown) => void) {
  const of = desk().runs.filter((run) => ids.includes(run.id)).toSorted((one, other) => Date.parse(one.started) - Date.parse(other.started));
  const made = await compare(of[0].id, of[1].id).catch(report);
  if (made) show({ kind: "comparison", of, made });
}

function Result({ shown }: { shown: Shown }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => void place.current?.scrollIntoView(), [shown]);
  return (
    <div ref={place}>
      <Content shown={shown} />
    </div>
  );
}

function Content({ shown }: { shown: Shown }) {
  if (shown.kind === "report") return <pre>{shown.text}</pre>;
  if (shown.kind === "timeline") return <TimeLine key={shown.run.id} run={shown.run} />;
  if (shown.kind === "picture") return <img className="picture" src={shown.address} alt="Gantt chart of the run" onLoad={(event) => event.currentTarget.scrollIntoView()} />;
  if (shown.kind === "comparison") return <Differences of={shown.of} made={shown.made} />;
  const { text, diff, program } = shown.advice;
  return (
    <>
      <pre>{text}</pre>
      {diff && <pre className="diff">{diff}</pre>}
      {program && (
        <button className="main" onClick={() => void acceptAndRun(program, shown.run).catch(report)}>
          Accept and run again
        </button>
      )}
    </>
  );
}

function Differences({ of, made }: { of: Run[]; made: Comparison }) {
  const rows = [...made.differences.map((row) => ({ ...row, change: "" })), ...made.rows];
  return (
    <table className="comparison">
      <thead>
        <tr>
          {["", ...of.map(begun), "Change"].map((title) => (
            <th key={title}>{title}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.what}>
            <th>{row.what}</th>
            <td>{row.left}</td>
            <td>{row.right}</td>
            <td>{row.change}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
