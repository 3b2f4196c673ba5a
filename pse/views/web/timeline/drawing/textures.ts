// Textures of 8 by 8 pixels: a byte for each line, a bit for each pixel.

export type Texture = Uint8Array;

const texture = (...lines: number[]): Texture => Uint8Array.from(lines);

// Why a rank waits, by the reasons' order (`waitTexture`): they differ in form, not in shades of grey.
const WAITS: Record<string, Texture> = {
  input: texture(0x11, 0x22, 0x44, 0x88, 0x11, 0x22, 0x44, 0x88), // Falling lines: for another's data.
  credit: texture(0x88, 0x44, 0x22, 0x11, 0x88, 0x44, 0x22, 0x11), // Rising lines: a queue is full.
  partitions: texture(0x44, 0x44, 0x44, 0x44, 0x44, 0x44, 0x44, 0x44), // Upright lines.
  remote: texture(0x81, 0x42, 0x24, 0x18, 0x18, 0x24, 0x42, 0x81), // Crosses.
  space: texture(0xff, 0x81, 0x81, 0x81, 0xff, 0x18, 0x18, 0x18), // Bricks: memory is full.
  iteration: texture(0x00, 0xff, 0x00, 0x00, 0x00, 0xff, 0x00, 0x00), // Level lines.
  order: texture(0x00, 0x66, 0x00, 0x00, 0x00, 0x66, 0x00, 0x00), // Dashes.
  exclusive: texture(0x10, 0x10, 0x7c, 0x10, 0x10, 0x00, 0x00, 0x00), // Plus signs.
};
const OTHER = texture(0x00, 0x22, 0x00, 0x88, 0x00, 0x22, 0x00, 0x88); // Dots.

// Ready to run, without a core.
export const PREEMPTED = texture(0xff, 0x00, 0xff, 0x00, 0xff, 0x00, 0xff, 0x00);

// The rank has what it waited for, and is not awake yet.
export const ASLEEP = texture(0xaa, 0x55, 0xaa, 0x55, 0xaa, 0x55, 0xaa, 0x55);

// Wait states of MPI look as waits between calls for the same do.
const STATES: Record<string, Texture> = {
  mpi_latesender: WAITS.input,
  mpi_latereceiver: WAITS.credit,
  mpi_wait_nxn: WAITS.partitions,
  mpi_barrier_wait: WAITS.partitions,
  mpi_latebroadcast: WAITS.iteration,
  mpi_earlyreduce: WAITS.order,
};

// The texture of a group of waits, ``wait:input``, or of wait states.
export function waitTexture(group: string): Texture {
  const [category, name] = group.split(":");
  return (category === "wait" ? WAITS : STATES)[name] ?? OTHER;
}

// Past 21 modules colours come again, with dots, rings or thick dots.
export const HATCHES: (Texture | null)[] = [
  null,
  texture(0, 0, 0x18, 0x18, 0, 0, 0, 0),
  texture(0, 0x3c, 0x42, 0x42, 0x42, 0x42, 0x3c, 0),
  texture(0, 0x18, 0x3c, 0x7e, 0x7e, 0x3c, 0x18, 0),
];

export const DIAGONAL = texture(1, 2, 4, 8, 16, 32, 64, 128);

// A picture of a texture.
export function tile(texture: Texture, ink: string): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 8;
  const pen = canvas.getContext("2d")!;
  pen.fillStyle = ink;
  for (let y = 0; y < 8; y++) for (let x = 0; x < 8; x++) if ((texture[y] >> x) & 1) pen.fillRect(x, y, 1, 1);
  return canvas;
}

// The same for legends, as a style sheet has it.
export function swatch(texture: Texture, ink: string): string {
  return `url(${tile(texture, ink).toDataURL()})`;
}
