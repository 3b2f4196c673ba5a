import { buffersOf, decoded, type Task } from "./decode";

addEventListener("message", async ({ data }: MessageEvent<Task>) => {
  try {
    const made = await decoded(data);
    postMessage({ made }, { transfer: [...buffersOf(made)] });
  } catch (error) {
    postMessage({ error: String(error) });
  }
});
