// The palette: what can be put into the program, by search; dragged in, or put after the selection by Enter.

import { useState } from "react";
import { insertionAfter } from "../graph/dropping";
import { insertItem, STATEMENTS, titleOf } from "../inserting";
import { beginProgram } from "../program";
import type { Palette } from "../protocol";
import { desk, type PaletteItem, update, useDesk } from "../store";

interface Group {
  title: string;
  items: PaletteItem[];
}

export function Modules() {
  const palette = useDesk((desk) => desk.palette);
  const [search, setSearch] = useState("");
  const groups = matching(groupsOf(palette), search.trim().toLowerCase());
  const first = groups[0]?.items[0];
  return (
    <section className="modules" aria-label="Modules">
      <header>
        <h2>Modules</h2>
      </header>
      <input
        id="module-search"
        type="search"
        placeholder="Search modules"
        aria-label="Search modules"
        value={search}
        onChange={(event) => setSearch(event.target.value)}
        onKeyDown={(event) => event.key === "Enter" && first && void add(first)}
      />
      <ul>
        {groups.map((group) => (
          <PaletteGroup key={group.title} group={group} />
        ))}
        {groups.length === 0 && <li className="group">Nothing has this name.</li>}
        {palette?.problems.map((problem) => (
          <li key={problem.path} className="group error" title={problem.message}>
            {problem.path}: {problem.message}
          </li>
        ))}
      </ul>
    </section>
  );
}

export const add = async (item: PaletteItem) => {
  if (await beginProgram()) insertItem(item, insertionAfter(desk()));
};

export const groupsOf = (palette: Palette | null): Group[] => [
  ...(palette?.groups.map(({ title, modules }) => ({ title, items: modules })) ?? []),
  { title: "Statements", items: STATEMENTS },
];

function matching(groups: Group[], search: string): Group[] {
  const fits = (item: PaletteItem) => `${titleOf(item)} ${item.doc ?? ""}`.toLowerCase().includes(search);
  return groups.map(({ title, items }) => ({ title, items: items.filter(fits) })).filter(({ items }) => items.length);
}

/** The file that a module is in, and what it does. */
const detailOf = (item: PaletteItem) =>
  ["module" in item && "file" in item.module && item.module.file, item.doc].filter(Boolean).join(" · ");

function PaletteGroup({ group }: { group: Group }) {
  return (
    <>
      <li className="group">{group.title}</li>
      {group.items.map((item, index) => (
        <li
          key={index}
          draggable
          role="button"
          tabIndex={0}
          title={"signature" in item ? `${item.signature}\n${item.doc ?? ""}` : item.doc}
          data-module={titleOf(item)}
          onDragStart={(event) => {
            event.dataTransfer.setData("text/plain", titleOf(item));
            update({ dragged: item });
          }}
          onDragEnd={() => update({ dragged: null })}
          onDoubleClick={() => void add(item)}
          onKeyDown={(event) => event.key === "Enter" && void add(item)}
        >
          {titleOf(item)}
          <small>{detailOf(item)}</small>
        </li>
      ))}
    </>
  );
}
