// Colours on the graph: threads', as in the pictures of pse; shares of a run from pale to deep.

/** Black or white, whichever is legible on a background. */
export const ink = (background: string) => (luminance(background) > 0.2 ? "#000000" : "#ffffff");

/** A colour whose thin lines show on white. */
export const darker = (shade: string, factor = 0.72) =>
  "#" + parts(shade).map((part) => Math.trunc(part * factor).toString(16).padStart(2, "0")).join("");

export const threadColour = (colours: string[], threads: string[], thread: string | null) => {
  const index = thread === null ? -1 : threads.indexOf(thread);
  return index < 0 || colours.length === 0 ? "#BBBBBB" : colours[index % colours.length];
};

const PALE = [253, 240, 213];
const DEEP = [179, 38, 30];

/** The colour of a share, 0 to 1. */
export function shareColour(share: number): string {
  const at = Math.sqrt(Math.min(Math.max(share, 0), 1));
  return "#" + PALE.map((part, index) => Math.round(part + (DEEP[index] - part) * at).toString(16).padStart(2, "0")).join("");
}

const parts = (shade: string) => [1, 3, 5].map((at) => parseInt(shade.slice(at, at + 2), 16));

function luminance(shade: string): number {
  const [red, green, blue] = parts(shade).map((part) =>
    part <= 10 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
