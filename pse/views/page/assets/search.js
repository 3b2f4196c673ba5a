// Search: words that must all fit a block.  `rank 3`, `tph 7`, `tag x`, `module x`, `thread x` and
// `processor 1` say where a word stands.

const WHERE = /\b(rank|tph|tag|module|thread|processor)\s*[:= ]\s*(\S+)/gi;

function terms(query) {
  const made = [];
  const rest = query.replace(
    WHERE,
    (_, where, word) => (made.push({ where: where.toLowerCase(), word: word.toLowerCase() }), " "),
  );
  for (const word of rest.toLowerCase().split(/\s+/)) if (word) made.push({ where: "any", word });
  return made;
}

// For a term: which kinds, rows and TPHs have it.
function fits(model, { where, word }) {
  const any = where === "any";
  const within = (text) => text.toLowerCase().includes(word);
  const ofKind = ({ label, module, place, tags }) => {
    if (where === "module") return within(`${label}\n${module}`);
    if (where === "tag") return tags.toLowerCase().split(" ").includes(word);
    return any && within([label, module, place, tags].join("\n"));
  };
  const ofRow = ({ rank, label, thread, group }) => {
    if (where === "rank") return String(rank) === word;
    if (where === "thread")
      return thread.replace("thread_", "").toLowerCase() === word.replace("thread_", "");
    if (where === "processor") return [group, group.slice(1)].includes(word);
    return any && within(label);
  };
  const ofTph = ({ number, text }) =>
    (any || where === "tph") && [number, ...text.toLowerCase().replaceAll(" ", "").split(",")].includes(word);
  return {
    kinds: Uint8Array.from(model.kinds, ofKind),
    rows: Uint8Array.from(model.rows, ofRow),
    tphs: Uint8Array.from([false, ...model.tphs.map(ofTph)]), // Number 0 is none.
  };
}

// The entries of the base level that fit, by time.
function findEntries(model, query) {
  const wanted = terms(query).map((term) => fits(model, term)),
    { base } = model,
    found = [];
  if (!wanted.length) return found;
  model.lanes.forEach((lane, number) => {
    for (let i = base.from[number]; i < base.from[number + 1]; i++) {
      const fit = (term) => term.rows[lane.row] || term.tphs[model.tph[i]] || anyPiece(base, i, term.kinds);
      if (wanted.every(fit)) found.push(i);
    }
  });
  return found.sort((a, b) => base.start[a] - base.start[b] || a - b);
}

function anyPiece(base, entry, kinds) {
  for (let p = base.first[entry]; p < base.first[entry + 1]; p++) if (kinds[base.kind[p]]) return true;
  return false;
}
