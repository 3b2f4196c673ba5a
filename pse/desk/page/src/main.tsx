// The desk begins: what is opened, and the three connections to the server.

import { createRoot } from "react-dom/client";
import { App } from "./App";
import { setTheme } from "./commands";
import { request, ServerError, Unreachable } from "./http";
import { drawGraph, listFiles, loadPalette, newProgram, openProgram, shownLast, useLanguage } from "./program";
import type { Session } from "./protocol";
import { watchServer } from "./runs";
import { type Theme, desk, report, say, update } from "./store";
import "./style.css";
import { connectLanguage } from "./text/language";

const THEMES: Theme[] = ["auto", "light", "dark"];

async function begin() {
  setTheme(THEMES.find((one) => one === localStorage.getItem("pse-desk-theme")) ?? "auto");
  const asked = request<Session>("GET", "session"); // the server answers while the page is drawn
  createRoot(document.getElementById("desk")!).render(<App />);
  const session = latest(await asked);
  useLanguage(connectLanguage(session.uri, connection));
  update({ session });
  watchServer();
  await Promise.all([session.program && openFirst(session.program), listFiles()]);
}

/** A page that is loaded anew goes on with the program that it showed. */
function latest(session: Session): Session {
  const [navigation] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  return { ...session, program: (navigation?.type === "reload" && shownLast(session)) || session.program };
}

/** Open the program that the desk was started for; one that is not there yet is a new one. */
const openFirst = (path: string) =>
  openProgram(path).catch((error) => {
    if (!(error instanceof ServerError && error.status === 404)) throw error;
    newProgram(path);
  });

/** The server of the language came or went; when it is back, it is asked for all that it tells. */
function connection(connected: boolean) {
  update({ connected });
  if (!connected) return;
  if (desk().message?.unheard) update({ message: null });
  void drawGraph().then(loadPalette);
}

begin().catch((error) => {
  if (error instanceof Unreachable) say("The server of this desk does not answer.", "Start it: pse desk");
  else report(error);
});
