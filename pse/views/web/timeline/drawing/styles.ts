// Colours of the page, and canvases in device pixels.

export interface Styles {
  paper: string;
  row: string;
  line: string;
  ink: string;
  soft: string;
  accent: string;
  failed: string;
  dark: boolean;
}

// What lines and words are drawn with: a canvas, or SVG.
export type Pen = Pick<
  CanvasRenderingContext2D,
  | "arc" | "beginPath" | "fill" | "fillRect" | "fillText" | "lineTo" | "measureText" | "moveTo" | "setLineDash"
  | "stroke" | "strokeRect" | "translate"
  | "fillStyle" | "font" | "globalAlpha" | "lineWidth" | "strokeStyle" | "textAlign" | "textBaseline"
>;

export const FONT = 'system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif';

export const ratio = (): number => window.devicePixelRatio || 1;

export function styles(): Styles {
  const css = getComputedStyle(document.documentElement);
  const pick = (name: string) => css.getPropertyValue(`--${name}`).trim();
  return {
    paper: pick("paper"),
    row: pick("row"),
    line: pick("line"),
    ink: pick("ink"),
    soft: pick("soft"),
    accent: pick("accent"),
    failed: pick("failed"),
    dark: matchMedia("(prefers-color-scheme: dark)").matches && !document.documentElement.classList.contains("paper"),
  };
}

export function prepared(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const scale = ratio();
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext("2d")!;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}
