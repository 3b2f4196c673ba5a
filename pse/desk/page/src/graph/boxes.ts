// Boxes with ports, the lines between them, and the places that they have.

export interface Port {
  id: string;
  output: boolean;
  at: number; // from the left edge of its box
}

export interface Box {
  id: string;
  parent: string | null;
  frame: boolean; // contains others; it is at least as wide as it says, its size follows from them
  width: number;
  height: number;
  ports: Port[];
}

export interface Line {
  id: string;
  from: string;
  fromPort: string;
  to: string;
  toPort: string;
}

export interface Point {
  x: number;
  y: number;
}

/** Relative to the frame around it. */
export interface Place extends Point {
  width: number;
  height: number;
}

export interface Layout {
  places: Map<string, Place>;
  routes: Map<string, Point[]>; // of lines, from the graph's origin; a line without one goes from port to port
}

export const HEAD = 30; // of a frame
export const PADDING = 16;
export const SMALLEST_FRAME_HEIGHT = HEAD + 48;

export const MANY = 150; // boxes: a graph of more is laid out and drawn with less effort for each

/** The size of a box, a frame's around boxes that have places. */
export function sizeOf(box: Box, within: Box[], places: Map<string, Place>): { width: number; height: number } {
  if (!box.frame) return { width: box.width, height: box.height };
  const inner = within.map((one) => places.get(one.id)!);
  return {
    width: Math.max(box.width, ...inner.map((one) => one.x + one.width + PADDING)),
    height: Math.max(SMALLEST_FRAME_HEIGHT, ...inner.map((one) => one.y + one.height + PADDING)),
  };
}
