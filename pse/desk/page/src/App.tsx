// The page: a bar, modules and forms, the graph, the text, and the drawer with runs.

import { useEffect, useRef } from "react";
import { COMMANDS, commandOf } from "./commands";
import { GraphPane } from "./graph/GraphPane";
import { Dialogs } from "./panels/Dialogs";
import { Divider } from "./panels/Divider";
import { Drawer } from "./panels/Drawer";
import { Modules } from "./panels/Modules";
import { Properties } from "./panels/Properties";
import { Source } from "./panels/Source";
import { beginProgram, tooLong, view } from "./program";
import { desk, update, useDesk } from "./store";

export function App() {
  const working = useDesk((desk) => desk.busy > 0);
  useEffect(() => {
    document.addEventListener("keydown", pressed, true);
    window.addEventListener("beforeunload", leaving);
    return () => {
      document.removeEventListener("keydown", pressed, true);
      window.removeEventListener("beforeunload", leaving);
    };
  }, []);
  return (
    <main className="desk">
      <Bar />
      <aside className="side">
        <Modules />
        <Properties />
        <Divider edge="right" label="Width of modules and forms" />
      </aside>
      <section className="graph" aria-label="Graph" aria-busy={working}>
        <Banner />
        <Empty />
        <GraphPane />
      </section>
      <TextPane />
      <Drawer />
      <Dialogs />
    </main>
  );
}

function pressed(event: KeyboardEvent) {
  if (desk().dialog) return;
  const command = commandOf(event);
  if (!command) return;
  event.preventDefault();
  event.stopPropagation();
  void command.run();
}

/** Browsers ask before a page with edits is left. */
function leaving(event: BeforeUnloadEvent) {
  if (desk().file?.changed || desk().source?.changed) event.preventDefault();
}

const BUTTONS: [string, string][] = [
  ["Open a program…", "Open"],
  ["Save", "Save"],
  ["Undo", "Undo"],
  ["Redo", "Redo"],
  ["All commands", "Commands"],
];

function Bar() {
  const file = useDesk((desk) => desk.file);
  const directory = useDesk((desk) => desk.session?.directory);
  const connected = useDesk((desk) => desk.connected);
  const problems = useDesk((desk) => desk.graph?.diagnostics.filter((one) => one.severity === "error").length ?? 0);
  return (
    <header className="bar">
      <span className="title" title={directory}>
        {file?.path ?? "pse desk"}
      </span>
      <span className="note" role="status" aria-label="State of the file">
        {stateText(file?.changed, connected)}
      </span>
      <span className="gap" />
      {problems > 0 && (
        <button className="error" onClick={() => update({ drawer: "problems" })}>
          {problems} {problems === 1 ? "error" : "errors"}
        </button>
      )}
      {BUTTONS.map(([title, text]) => (
        <CommandButton key={title} title={title} text={text} />
      ))}
      <CommandButton title="Run the program" text="Run" main />
    </header>
  );
}

function stateText(changed: boolean | undefined, connected: boolean): string {
  if (!connected) return "no server";
  return changed === undefined ? "" : changed ? "not saved" : "saved";
}

function CommandButton({ title, text, main = false }: { title: string; text: string; main?: boolean }) {
  const command = COMMANDS.find((one) => one.title === title)!;
  const possible = useDesk((desk) => command.possible?.(desk) ?? true);
  const words = `${title} (${command.keys})`;
  return (
    <button className={main ? "main" : ""} title={words} disabled={!possible} onClick={() => void command.run()}>
      {text}
    </button>
  );
}

/** What went wrong, or what has happened; the lost server until it is back. */
function Banner() {
  const connected = useDesk((desk) => desk.connected);
  const session = useDesk((desk) => desk.session);
  const message = useDesk((desk) => desk.message);
  if (session && !connected) {
    return (
      <div className="banner" role="alert">
        The server of this desk does not answer. Your text is kept in this page. {howToGoOn(session.directory)}
      </div>
    );
  }
  if (!message) return null;
  return (
    <div className={message.calm ? "banner calm" : "banner"} role={message.calm ? "status" : "alert"}>
      <span>
        {message.message}
        {message.help && <small> {message.help}</small>}
      </span>
      <button className="plain" aria-label="Close this message" onClick={() => update({ message: null })}>
        ✕
      </button>
    </div>
  );
}

/** What brings the server back: it has a new token then, and behind a proxy another port than the page's. */
function howToGoOn(directory: string): string {
  if (location.pathname !== "/") return "It can be saved as soon as the server is back.";
  return `Start it again (pse desk --port ${location.port} ${directory}), and open the address that it prints in another tab: then this page goes on.`;
}

function Empty() {
  const file = useDesk((desk) => desk.file);
  const graph = useDesk((desk) => desk.graph);
  const opening = useDesk((desk) => desk.session === null || desk.session.program !== null);
  const programs = useDesk((desk) => desk.files.some((one) => one.kind === "program"));
  if (!file) {
    if (opening) return null;
    return (
      <div className="empty">
        <h1>No program is open</h1>
        {programs && <CommandButton title="Open a program…" text="Open a program" main />}
        <NewButton />
      </div>
    );
  }
  if (!graph || graph.nodes.length || graph.frames.length > 1) return null;
  const unread = tooLong(graph);
  if (unread)
    return (
      <div className="empty">
        <h1>The program can’t be drawn</h1>
        <p>{unread.message}</p>
      </div>
    );
  return (
    <div className="empty">
      <h1>{graph.name ? `program ${graph.name} is empty` : "The file has no program yet"}</h1>
      <p>Drag a module here, or press A.</p>
      {!graph.name && (
        <button className="main" onClick={() => void beginProgram()}>
          Begin a program
        </button>
      )}
    </div>
  );
}

function NewButton() {
  const command = COMMANDS.find((one) => one.title === "New program…")!;
  return <button onClick={() => void command.run()}>New program</button>;
}

function TextPane() {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => void place.current!.append(view.dom), []);
  return (
    <section className="text" aria-label="Text">
      <Divider edge="left" label="Width of the text" />
      <div className="place" ref={place} />
      <Source />
    </section>
  );
}
