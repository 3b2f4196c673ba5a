// Elements of the page: what comes from a trace is text always, never markup.

type Attributes = Record<string, string | number | boolean>;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  text?: string,
  attributes: Attributes = {},
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}

export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

// Fills an element anew; the keyboard stays on what has the same words, or else the same place.
export function refill(holder: HTMLElement, made: Element[]): void {
  const all = () => [...holder.querySelectorAll<HTMLElement>("button, input, select, [tabindex]")],
    before = all(),
    place = before.indexOf(document.activeElement as HTMLElement),
    words = before[place]?.textContent;
  holder.replaceChildren(...made);
  if (place < 0) return;
  const after = all();
  (after.find(({ textContent }) => textContent === words) ?? after[place])?.focus({ preventScroll: true });
}
