// A graph follows from the one before and from what differs: what is the same stays the same object.

import type { Difference, ListDifference, Moved, ProgramGraph, Span } from "./protocol";

interface Placed {
  span: Span | null;
  line: number;
}

export const isDifference = (answer: ProgramGraph | Difference): answer is Difference => "since" in answer;

export function patched(before: ProgramGraph, { since: _, moved, ...difference }: Difference): ProgramGraph {
  const behind = <One extends Placed>(one: One) => behindChange(one, moved);
  return {
    ...difference,
    frames: patchedList(before.frames, difference.frames, behind),
    nodes: patchedList(before.nodes, difference.nodes, behind),
    edges: patchedList(before.edges, difference.edges, (edge) => edge),
    diagnostics: patchedList(before.diagnostics, difference.diagnostics, (problem) => {
      const made = behind(problem);
      if (made === problem || problem.span!.start < moved.at || !moved.lines) return made;
      const related = problem.related.map((one) => (one.path === problem.path ? { ...one, line: one.line + moved.lines } : one));
      return { ...made, related };
    }),
  };
}

function patchedList<One>(before: One[], { dropped, put }: ListDifference<One>, move: (one: One) => One): One[] {
  const gone = new Set(dropped);
  const kept = before.filter((_, number) => !gone.has(number)).map(move)[Symbol.iterator]();
  const placed = new Map(put);
  const length = before.length - gone.size + put.length;
  return Array.from({ length }, (_, number) => placed.get(number) ?? kept.next().value!);
}

/** What is behind the change of the text has moved with it; what is around it has grown. */
function behindChange<One extends Placed>(one: One, { at, by, lines }: Moved): One {
  const { span } = one;
  if (!span || span.end < at || (!by && !lines)) return one;
  if (span.start < at) return { ...one, span: { start: span.start, end: span.end + by } };
  return { ...shifted(one, by), line: one.line + lines };
}

/** Spans in a part of a graph, further back. */
function shifted<Part>(part: Part, by: number): Part {
  if (Array.isArray(part)) return part.map((one) => shifted(one, by)) as Part;
  if (part === null || typeof part !== "object") return part;
  if ("start" in part && "end" in part) return { start: (part.start as number) + by, end: (part.end as number) + by } as Part;
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, shifted(value, by)])) as Part;
}
