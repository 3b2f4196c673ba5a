// Below: the run that is shown, the list of runs, and what is wrong with the program.

import type { ReactNode } from "react";
import { type DrawerTab, update, useDesk } from "../store";
import { Divider } from "./Divider";
import { Problems } from "./Problems";
import { RunPanel } from "./RunPanel";
import { Runs } from "./Runs";

export function Drawer() {
  const open = useDesk((desk) => desk.drawer);
  const problems = useDesk((desk) => desk.graph?.diagnostics.length ?? 0);
  const runs = useDesk((desk) => desk.runs.length);
  const titles: [DrawerTab, string][] = [
    ["run", "Run"],
    ["runs", `Runs (${runs})`],
    ["problems", `Problems (${problems})`],
  ];
  return (
    <section className="drawer" aria-label="Runs and problems">
      {open && <Divider edge="top" label="Height of runs and problems" />}
      <div className="tabs" role="tablist">
        {titles.map(([tab, title]) => (
          <button key={tab} role="tab" aria-selected={open === tab} onClick={() => update({ drawer: open === tab ? null : tab })}>
            {title}
          </button>
        ))}
      </div>
      <Body tab="run" open={open} children={<RunPanel />} />
      <Body tab="runs" open={open} children={<Runs />} />
      <Body tab="problems" open={open} children={<Problems />} />
    </section>
  );
}

/** What is not shown stays, with what was typed in it. */
function Body({ tab, open, children }: { tab: DrawerTab; open: DrawerTab | null; children: ReactNode }) {
  return (
    <div className="body" role="tabpanel" data-tab={tab} hidden={open !== tab}>
      {children}
    </div>
  );
}
