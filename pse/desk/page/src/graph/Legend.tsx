// What colours mean: threads, or shares of a run's time.

import { type Colouring, update, useDesk } from "../store";
import { darker, shareColour, threadColour } from "./colours";

const MEASURES: Record<Colouring, string> = {
  thread: "Threads",
  time: "Time",
  cpu: "CPU",
  waiting: "Waiting",
  critical: "Critical path",
};
const SCALE = [0, 0.1, 0.3, 0.6, 1];

export function Legend() {
  const threads = useDesk((desk) => desk.graph?.threads);
  const colours = useDesk((desk) => desk.session?.colours ?? NONE);
  const colouring = useDesk((desk) => desk.colouring);
  const measured = useDesk((desk) => (desk.sites?.sites.length ?? 0) > 0);
  if (!threads?.length && !measured) return null;
  return (
    <div className="legend">
      {measured && <Measures chosen={colouring} />}
      {colouring === "thread" ? threads?.map((thread) => <Entry key={thread} colour={threadColour(colours, threads, thread)} text={thread} />) : <Scale colouring={colouring} />}
    </div>
  );
}

const NONE: string[] = [];

function Entry({ colour, text }: { colour: string; text: string }) {
  return (
    <span>
      <i style={{ background: colour, border: `1px solid ${darker(colour)}` }} />
      {text}
    </span>
  );
}

function Measures({ chosen }: { chosen: Colouring }) {
  return (
    <select aria-label="Colour calls by" value={chosen} onChange={(event) => update({ colouring: event.target.value as Colouring })}>
      {Object.entries(MEASURES).map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}

const WHOLES: Record<Colouring, string> = {
  thread: "",
  time: "of all calls’ time",
  cpu: "of the call’s time on the CPU",
  waiting: "of all waiting",
  critical: "of the critical path",
};

function Scale({ colouring }: { colouring: Colouring }) {
  return (
    <>
      {SCALE.map((share) => (
        <Entry key={share} colour={shareColour(share)} text={`${100 * share} %`} />
      ))}
      <span>{WHOLES[colouring]}</span>
    </>
  );
}
