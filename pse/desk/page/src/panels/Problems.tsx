// What is wrong with the program; a click goes to the place.

import { select, view } from "../program";
import type { Problem } from "../protocol";
import { useDesk } from "../store";
import { selectSpan } from "../text/editor";

export function Problems() {
  const problems = useDesk((desk) => desk.graph?.diagnostics ?? NONE);
  if (problems.length === 0) return <p>The program is correct.</p>;
  return (
    <ul className="problems">
      {problems.map((problem, index) => (
        <li key={index} tabIndex={0} onClick={() => show(problem)} onKeyDown={(event) => event.key === "Enter" && show(problem)}>
          <span className={problem.severity}>
            {problem.severity} {problem.code}
          </span>{" "}
          {problem.path}:{problem.line}:{problem.column} <pre>{[problem.message, problem.help && `help: ${problem.help}`].filter(Boolean).join("\n")}</pre>
          {problem.related.map((one, number) => (
            <div key={number}>
              {one.path}:{one.line}:{one.column} {one.message}
            </div>
          ))}
        </li>
      ))}
    </ul>
  );
}

const NONE: Problem[] = [];

function show(problem: Problem) {
  if (problem.node) select([problem.node]);
  if (problem.span) selectSpan(view, problem.span);
}
