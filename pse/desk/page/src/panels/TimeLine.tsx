// The time line of a run: the page that `pse view` makes; its selected call and the graph's are the same.

import { useEffect, useRef } from "react";
import { calledName } from "../../../../views/web/shared/numbers";
import { select } from "../program";
import type { Run } from "../protocol";
import { desk, useDesk } from "../store";

/** What the page tells of itself: views/web/shared/embedding.ts. */
interface Seen {
  address: string;
  selected: { category: string; label: string; place: string } | null;
}

interface Timeline extends HTMLElement {
  seen: Seen | null;
}

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "pse-timeline": DetailedHTMLProps<HTMLAttributes<HTMLElement>, HTMLElement> & { src: string };
    }
  }
}

export function TimeLine({ run }: { run: Run }) {
  const element = useRef<Timeline>(null);
  const selection = useDesk((desk) => desk.selection);
  useEffect(defineElement, []);
  useEffect(() => {
    const told = ({ detail }: Event & { detail?: Seen }) => detail && selectCall(detail);
    element.current!.addEventListener("seen", told);
    return () => element.current?.removeEventListener("seen", told);
  }, []);
  useEffect(() => showCall(element.current!), [selection]);
  return <pse-timeline ref={element} className="timeline" src={`api/runs/${run.id}/page`} />;
}

/** The element's script comes with the pages that it shows, not with the desk. */
function defineElement() {
  if (customElements.get("pse-timeline") || document.querySelector("script[src='timeline.js']")) return;
  document.head.append(Object.assign(document.createElement("script"), { src: "timeline.js" }));
}

const calls = () => (desk().graph?.nodes ?? []).filter((node) => node.call);

/** In the graph, the call of the block that is selected in the page. */
function selectCall({ selected }: Seen) {
  if (selected?.category !== "call") return;
  const [line, column] = selected.place.split(":").slice(-2).map(Number);
  const name = calledName(selected.label);
  const node = calls().find((one) => one.label === name && one.line === line && one.column === column);
  if (node && !desk().selection.has(node.id)) select([node.id]);
}

/** In the page, the blocks of the call that is selected in the graph, unless one of them is selected. */
function showCall(element: Timeline) {
  const node = calls().find((one) => desk().selection.has(one.id));
  if (!node || !element.seen || calledName(element.seen.selected?.label ?? "") === node.label) return;
  const address = new URLSearchParams(element.seen.address);
  address.delete("block");
  address.set("find", `call == "${node.label}"`);
  element.setAttribute("address", address.toString());
}
