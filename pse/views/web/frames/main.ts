// <pse-frame>: a watched tag of a run, as a picture with a caption; and the widget of notebooks that shows one
// (anywidget: `render`).
//
// Properties: `frame`, what is shown; `openSpace`, how three dimensions are drawn.

import { element } from "../shared/elements";
import { caption, type Frame } from "../shared/frame";
import { pictureOf, WIDTH, type OpenSpace, type Picture } from "./pictures";

const NAME = "pse-frame";

// The script beside this one.
const openSpace: OpenSpace = async (holder, colours) =>
  (await import(/* @vite-ignore */ import.meta.url.replace(/[^/]*$/, "space.js"))).openSpace(holder, colours);

class FrameElement extends HTMLElement {
  openSpace = openSpace;
  private readonly figure = element("figure");
  private readonly words = element("figcaption");
  private picture: Picture | null = null;
  private last: Frame | null = null;
  private kind = "";

  constructor() {
    super();
    this.figure.style.cssText = `margin: 0 0 8px; width: ${WIDTH}px`;
    this.words.style.cssText = "font-size: 12px; font-variant-numeric: tabular-nums; opacity: 0.75";
    this.figure.append(this.words);
  }

  get frame(): Frame | null {
    return this.last;
  }

  set frame(frame: Frame | null) {
    this.last = frame;
    if (frame && this.isConnected) this.show(frame);
  }

  connectedCallback(): void {
    this.append(this.figure);
    this.frame = this.last;
  }

  disconnectedCallback(): void {
    this.drop();
  }

  private show(frame: Frame): void {
    this.figure.dataset.tag = frame.tag;
    if (frame.error) return this.tell(frame.error);
    const kind = `${frame.points} ${frame.cells.length}`;
    if (kind !== this.kind) {
      this.drop();
      this.picture = pictureOf(frame, this.openSpace);
      this.figure.prepend(this.picture.holder);
      this.kind = kind;
    }
    this.picture?.show(frame);
    this.figure.dataset.pause = String(frame.pause);
    this.tell(caption(frame));
  }

  private tell(text: string): void {
    this.words.textContent = text;
  }

  private drop(): void {
    this.picture?.close();
    this.picture?.holder.remove();
    [this.picture, this.kind] = [null, ""];
  }
}

if (!customElements.get(NAME)) customElements.define(NAME, FrameElement);

// The side of a widget's model in Python that is used here: pse.notebook.
interface Model {
  get(name: "frame"): Frame | Record<string, never>;
  get(name: "said"): string;
  on(event: string, listener: (message: { space?: string }) => void): void;
  send(message: { wanted: "frame" | "space" }): void;
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const picture = document.createElement(NAME) as FrameElement,
    said = element("div"),
    space = once(() => spaceOf(model));
  picture.openSpace = async (holder, colours) => (await space()).openSpace(holder, colours);
  const shown = () => {
    const frame = model.get("frame");
    if ("tag" in frame) picture.frame = frame as Frame;
    model.send({ wanted: "frame" });
  };
  const told = () => (said.textContent = model.get("said"));
  el.append(picture, said);
  model.on("change:frame", shown);
  model.on("change:said", told);
  shown();
  told();
  return () => picture.remove();
}

const once = <T>(make: () => Promise<T>) => {
  let made: Promise<T> | null = null;
  return () => (made ??= make());
};

// A widget's script has no address, so that it could load another: the kernel sends that.
function spaceOf(model: Model): Promise<{ openSpace: OpenSpace }> {
  return new Promise((resolve) => {
    model.on("msg:custom", ({ space }) => {
      if (space) resolve(import(/* @vite-ignore */ URL.createObjectURL(new Blob([space], { type: "text/javascript" }))));
    });
    model.send({ wanted: "space" });
  });
}

export default { render };
