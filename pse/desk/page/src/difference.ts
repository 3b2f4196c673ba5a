// A graph follows from the one before and from what differs: what is the same stays the same object.

import type { Difference, Field, ListDifference, Moved, ProgramGraph, Span } from "./protocol";

interface Placed {
  span: Span | null;
  line: number;
  fields?: Record<string, Field>;
}

const PLACES = new Set(["span", "line", "column"]);

/** Whether two parts of graphs differ at most in where they are in the text. */
export function alike(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  const [names, others] = [Object.keys(one), Object.keys(other)];
  const same = (name: string) => PLACES.has(name) || alike((one as Part)[name], (other as Part)[name]);
  return names.length === others.length && names.every(same);
}

type Part = Record<string, unknown>;

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
  const made = { ...one, span: further(span, by), line: one.line + lines };
  return made.fields ? { ...made, fields: fieldsFurther(made.fields, by) } : made;
}

const further = ({ start, end }: Span, by: number): Span => ({ start: start + by, end: end + by });

const fieldsFurther = (fields: Record<string, Field>, by: number) =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.span ? { ...field, span: further(field.span, by) } : field]));
