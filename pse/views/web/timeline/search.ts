// Search: words that must all fit a block.  `rank 3`, `tph 7`, `tag x`, `module x`, `thread x` and
// `processor 1` say where a word stands.

import type { Level } from "./data/levels";
import type { Kind, Model, Row, Tph } from "./data/model";

const WHERE = /\b(rank|tph|tag|module|thread|processor)\s*[:= ]\s*(\S+)/gi;

interface Term {
  where: string;
  word: string;
}

function terms(query: string): Term[] {
  const made: Term[] = [];
  const rest = query.replace(
    WHERE,
    (_, where: string, word: string) => (made.push({ where: where.toLowerCase(), word: word.toLowerCase() }), " "),
  );
  for (const word of rest.toLowerCase().split(/\s+/)) if (word) made.push({ where: "any", word });
  return made;
}

// For a term: which kinds, rows and TPHs have it.
function fits(model: Model, { where, word }: Term): Record<"kinds" | "rows" | "tphs", Uint8Array> {
  const any = where === "any";
  const within = (text: string) => text.toLowerCase().includes(word);
  const ofKind = ({ label, module, place, tags }: Kind) => {
    if (where === "module") return within(`${label}\n${module}`);
    if (where === "tag") return tags.toLowerCase().split(" ").includes(word);
    return any && within([label, module, place, tags].join("\n"));
  };
  const ofRow = ({ rank, label, thread, group }: Row) => {
    if (where === "rank") return String(rank) === word;
    if (where === "thread")
      return thread.replace("thread_", "").toLowerCase() === word.replace("thread_", "");
    if (where === "processor") return [group, group.slice(1)].includes(word);
    return any && within(label);
  };
  // "k=2" is also "k [l = 1] = 2".
  const ofTph = ({ number, text }: Tph) => {
    const named = text.toLowerCase().replaceAll(" ", "");
    return [number, ...named.split(/,(?![^[]*\])/), ...named.replace(/\[.*?\]/g, "").split(",")].includes(word);
  };
  const tphs = new Uint8Array(model.tphs.length + 1); // Number 0 is none.
  // Names of TPHs are made one by one: not where no word can be one.
  if (where === "tph" || (any && /[\d=]/.test(word)))
    for (let n = 1; n < tphs.length; n++) tphs[n] = Number(ofTph(model.tphs.at(n)));
  return {
    kinds: Uint8Array.from(model.kinds, (kind) => Number(ofKind(kind))),
    rows: Uint8Array.from(model.rows, (row) => Number(ofRow(row))),
    tphs,
  };
}

// The entries of the base level that fit, by time.
export function findEntries(model: Model, query: string): number[] {
  const wanted = terms(query).map((term) => fits(model, term)),
    { base } = model,
    found: number[] = [];
  if (!wanted.length) return found;
  model.lanes.forEach((lane, number) => {
    for (let i = base.from[number]; i < base.from[number + 1]; i++) {
      if (wanted.every((term) => term.rows[lane.row] || term.tphs[model.tph[i]] || anyPiece(base, i, term.kinds)))
        found.push(i);
    }
  });
  return found.sort((a, b) => base.start[a] - base.start[b] || a - b);
}

function anyPiece(base: Level, entry: number, kinds: Uint8Array): boolean {
  for (let p = base.first[entry]; p < base.first[entry + 1]; p++) if (kinds[base.kind[p]]) return true;
  return false;
}
