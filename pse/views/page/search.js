// Search: words that must all fit a block; `rank 3`, `tph 7`, `tag x`, `module x`, `thread x`, `processor 1` say where.

const WHERE = /\b(rank|tph|tag|module|thread|processor)\s*[:= ]\s*(\S+)/gi;

function terms(query) {
  const made = [];
  const rest = query.replace(WHERE, (_, where, word) => (made.push({ where: where.toLowerCase(), word: word.toLowerCase() }), " "));
  for (const word of rest.toLowerCase().split(/\s+/)) if (word) made.push({ where: "any", word });
  return made;
}

// For a term: which kinds, rows and TPHs have it.
function fits(model, { where, word }) {
  const any = where === "any";
  const kindText = (kind) =>
    where === "tag" ? ` ${kind.tags} ` : where === "module" ? `${kind.label}\n${kind.module}` : `${kind.label}\n${kind.module}\n${kind.place}\n${kind.tags}`;
  const kindFits = (kind) => (any || where === "module") && kindText(kind).toLowerCase().includes(word)
    || where === "tag" && kindText(kind).toLowerCase().includes(` ${word} `);
  const rowFits = (row) => any && row.label.toLowerCase().includes(word) || where === "rank" && String(row.rank) === word
    || where === "thread" && row.thread.toLowerCase().replace("thread_", "") === word.replace("thread_", "")
    || where === "processor" && [row.group, row.group.slice(1)].includes(word);
  const tphFits = ({ number, text }) => (any || where === "tph")
    && (number === word || text.toLowerCase().replaceAll(" ", "").split(",").includes(word));
  return {
    kinds: Uint8Array.from(model.kinds, kindFits), rows: Uint8Array.from(model.rows, rowFits),
    tphs: Uint8Array.from([{ number: "", text: "" }, ...model.tphs], (tph) => tph.number !== "" && tphFits(tph)),
  };
}

// The entries of the base level that fit, by time.
function findEntries(model, query) {
  const wanted = terms(query).map((term) => fits(model, term)), { base } = model, found = [];
  if (!wanted.length) return found;
  model.lanes.forEach((lane, number) => {
    for (let i = base.from[number]; i < base.from[number + 1]; i++) {
      if (wanted.every((term) => term.rows[lane.row] || term.tphs[model.tph[i]] || anyPiece(base, i, term.kinds))) found.push(i);
    }
  });
  return found.sort((a, b) => base.start[a] - base.start[b] || a - b);
}

function anyPiece(base, entry, kinds) {
  for (let p = base.first[entry]; p < base.first[entry + 1]; p++) if (kinds[base.kind[p]]) return true;
  return false;
}
