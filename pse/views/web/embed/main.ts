// <pse-timeline>: the page of a time line as an element of another document, in a frame of its own.
//
// Attributes: `src` or `srcdoc`, the page, if the element holds no frame yet; `address`, what it shows, as the part
// of the page's address after `#` says it.  Event `seen`, whenever something else is seen; `detail` is a `Seen`.

import type { Seen, Show } from "../shared/embedding";

const NAME = "pse-timeline",
  PAGE = ["src", "srcdoc"],
  STYLE = "display: block; width: 100%; height: 100%; border: 0";

class TimelineElement extends HTMLElement {
  static observedAttributes = [...PAGE, "address"];
  private frame: HTMLIFrameElement | null = null;
  private last: Seen | null = null;

  // What is seen; null: the page is not there yet.
  get seen(): Seen | null {
    return this.last;
  }

  connectedCallback(): void {
    this.style.display ||= "block";
    this.frame = this.querySelector("iframe") ?? this.appendChild(this.framed());
    addEventListener("message", this.told);
  }

  disconnectedCallback(): void {
    removeEventListener("message", this.told);
  }

  attributeChangedCallback(name: string, before: string | null, value: string | null): void {
    if (!this.frame || before === value) return;
    if (name === "address") this.show(value ?? "");
    else this.load(this.frame, name, value);
  }

  private framed(): HTMLIFrameElement {
    const frame = document.createElement("iframe");
    frame.title = "Time line of a run";
    frame.style.cssText = STYLE;
    for (const name of PAGE) if (this.hasAttribute(name)) this.load(frame, name, this.getAttribute(name));
    return frame;
  }

  private load(frame: HTMLIFrameElement, name: string, value: string | null): void {
    this.last = null;
    if (value === null) frame.removeAttribute(name);
    else frame.setAttribute(name, value);
  }

  private show(address: string): void {
    const asked: Show = { pse: "show", address };
    if (this.last) this.frame?.contentWindow?.postMessage(asked, "*");
  }

  private told = ({ source, data }: MessageEvent<Seen>): void => {
    if (!this.frame || source !== this.frame.contentWindow || data?.pse !== "seen") return;
    const first = !this.last,
      address = this.getAttribute("address");
    this.last = data;
    if (first && address) return this.show(address);
    this.dispatchEvent(new CustomEvent("seen", { detail: data, bubbles: true }));
  };
}

if (!customElements.get(NAME)) customElements.define(NAME, TimelineElement);
