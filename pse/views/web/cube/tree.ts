// A tree of nodes in a list: rows that fold, a number and a coloured box before each name, one row selected.

import { element } from "../shared/elements";

// Colours of shares: more is redder; of what became less, bluer.  The colour-blind tell them apart.
export const STEPS = [0, 0.01, 0.03, 0.1, 0.3];
export const MORE = ["#fff0b8", "#fed976", "#fd9d43", "#e8482c", "#a50f26"];
export const LESS = ["#dcebf7", "#9ecae1", "#4f9bcb", "#2171b5", "#08306b"];

const MOST_INDENTED = 40; // Levels: names of deeper ones would lie outside of the window.

function shade(share: number): string {
  const size = Math.abs(share);
  if (!(size >= 1e-9)) return "transparent";
  return (share > 0 ? MORE : LESS)[STEPS.findLastIndex((step) => size >= step)];
}

export interface TreeNode {
  parent: number;
  label: string;
  title?: string;
  note?: string;
}

type Write = (value: number, number: number) => string;
type Share = (value: number, number: number) => number;

export class Tree {
  nodes: (TreeNode & { children: number[] })[];
  open = new Set<number>();
  chosen = 0;
  hides: (number: number) => boolean = () => false;
  whole: ArrayLike<number> = [];
  private alone: ArrayLike<number> = [];
  private write: Write = String;
  private share: Share = () => 0;

  // `nodes` have parent (-1 for none; before their children) and label; `onSelect` is called on a change.
  constructor(
    private list: HTMLElement,
    nodes: TreeNode[],
    private onSelect: () => void,
  ) {
    this.nodes = nodes.map((node) => ({ ...node, children: [] }));
    this.nodes.forEach((node, number) => node.parent >= 0 && this.nodes[node.parent].children.push(number));
    list.addEventListener("click", (event) => this.click(event));
    list.addEventListener("keydown", (event) => this.key(event));
  }

  // Numbers: of each node alone, and with those below.  `write` makes text of one, `share` a share for its colour.
  show(alone: ArrayLike<number>, whole: ArrayLike<number>, write: Write, share: Share): void {
    Object.assign(this, { alone, whole, write, share });
    this.draw();
  }

  shown(number: number): number {
    const folded = !this.open.has(number) || !this.nodes[number]?.children.length;
    return folded ? this.whole[number] : this.alone[number];
  }

  draw(): void {
    const rows: HTMLElement[] = [];
    // Without recursion: call paths may be thousands of levels deep.
    const left = this.nodes.flatMap((node, number) => (node.parent < 0 ? [[number, 0]] : [])).reverse();
    while (left.length) {
      const [number, depth] = left.pop()!;
      if (this.hides(number)) continue;
      rows.push(this.row(number, depth));
      if (this.open.has(number)) left.push(...this.nodes[number].children.map((child) => [child, depth + 1]).reverse());
    }
    const held = this.list.contains(document.activeElement);
    this.list.replaceChildren(...rows);
    if (held) this.list.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
  }

  private row(number: number, depth: number): HTMLElement {
    const node = this.nodes[number],
      value = this.shown(number);
    const row = element("li", undefined, {
      role: "treeitem",
      "data-node": number,
      "aria-level": depth + 1,
      "aria-selected": number === this.chosen,
      tabindex: number === this.chosen ? 0 : -1,
      title: node.title ?? node.label,
    });
    if (node.children.some((child) => !this.hides(child))) row.setAttribute("aria-expanded", String(this.open.has(number)));
    row.style.setProperty("--depth", String(Math.min(depth, MOST_INDENTED)));
    const box = element("i");
    box.style.background = shade(this.share(value, number));
    row.classList.toggle("nothing", Math.abs(this.whole[number]) < 1e-9);
    row.append(
      element("b", ""),
      box,
      element("span", Math.abs(value) < 1e-9 ? "0" : this.write(value, number), { class: "value" }),
      element("span", node.label, { class: "label" }),
    );
    if (node.note) row.append(element("span", node.note, { class: "note" }));
    return row;
  }

  private click(event: MouseEvent): void {
    const target = event.target as HTMLElement,
      row = target.closest("li");
    if (!row) return;
    const number = Number(row.dataset.node);
    if (target.tagName === "B" && this.nodes[number].children.length) this.fold(number, this.open.has(number));
    else this.select(number);
  }

  private fold(number: number, folded: boolean): void {
    if (folded) this.open.delete(number);
    else this.open.add(number);
    // What is selected never hides.
    for (let up = this.nodes[this.chosen].parent; up >= 0; up = this.nodes[up].parent)
      if (folded && up === number) this.chosen = number;
    this.onSelect();
  }

  private select(number: number): void {
    this.chosen = number;
    this.onSelect();
    this.list.querySelector<HTMLElement>(`[data-node="${number}"]`)?.focus({ preventScroll: false });
  }

  // Selects a node, with all above it unfolded.
  reveal(number: number): void {
    for (let up = this.nodes[number]?.parent; up >= 0; up = this.nodes[up].parent) this.open.add(up);
    this.chosen = number;
  }

  scrollToChosen(): void {
    this.list.querySelector<HTMLElement>('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }

  private unfoldBelow(number: number): void {
    const left = [number];
    while (left.length) {
      const next = left.pop()!;
      this.open.add(next);
      left.push(...this.nodes[next].children);
    }
  }

  private key(event: KeyboardEvent): void {
    const rows = [...this.list.querySelectorAll("li")].map((row) => Number(row.dataset.node)),
      place = rows.indexOf(this.chosen),
      node = this.nodes[this.chosen],
      open = node.children.length > 0 && this.open.has(this.chosen);
    const moves: Record<string, () => void> = {
      ArrowUp: () => this.select(rows[Math.max(place - 1, 0)]),
      ArrowDown: () => this.select(rows[Math.min(place + 1, rows.length - 1)]),
      Home: () => this.select(rows[0]),
      End: () => this.select(rows[rows.length - 1]),
      ArrowRight: () => (open ? this.select(rows[place + 1] ?? this.chosen) : this.fold(this.chosen, false)),
      ArrowLeft: () => {
        if (open) this.fold(this.chosen, true);
        else if (node.parent >= 0) this.select(node.parent);
      },
      "*": () => (this.unfoldBelow(this.chosen), this.onSelect()),
    };
    if (event.ctrlKey || event.altKey || event.metaKey || !moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  }
}
