// A change of one text, made in what has become of that text meanwhile.

import { diff } from "@codemirror/merge";
import { ChangeSet } from "@codemirror/state";

/** What makes `changed` of `base`, for the present text; null if both change the same place. */
export function rebased(base: string, changed: string, present: string): ChangeSet | null {
  if (present === changed) return ChangeSet.empty(present.length);
  const [wanted, meanwhile] = [changes(base, changed), changes(base, present)];
  let clash = false;
  wanted.iterChangedRanges((from, to) => (clash ||= meanwhile.touchesRange(from, to) !== false));
  return clash ? null : wanted.map(meanwhile);
}

function changes(before: string, after: string): ChangeSet {
  const parts = diff(before, after).map(({ fromA, toA, fromB, toB }) => ({ from: fromA, to: toA, insert: after.slice(fromB, toB) }));
  return ChangeSet.of(parts, before.length);
}
