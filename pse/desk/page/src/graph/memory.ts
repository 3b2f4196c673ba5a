// Where boxes were in texts that were shown before: undo gives the picture back, as it gives the text back.

import type { ProgramGraph } from "../protocol";
import { MANY, type Place } from "./boxes";

const MOST = 50; // texts

type Places = Map<string, Place>;

let shown = ""; // the text whose graph is drawn
const remembered = new Map<string, (Place | undefined)[]>();

/** What was put somewhere by hand stays there, whatever is undone. */
export const forgetPlaces = () => remembered.clear();

/** The places that a text's graph had; in one that was not shown yet, of what is in the same frame as before. */
export function placesFor(graph: ProgramGraph, text: string, before: { graph: ProgramGraph | null; layout: { places: Places } }): Places {
  shown = text;
  const known = remembered.get(text);
  if (known) return new Map(partsOf(graph).flatMap(({ id }, number) => (known[number] ? [[id, known[number]]] : [])));
  const frames = new Map(before.graph ? partsOf(before.graph).map(({ id, frame }) => [id, frame]) : []);
  const { places } = before.layout;
  const kept = partsOf(graph).filter(({ id, frame }) => places.has(id) && frames.get(id) === frame);
  return new Map(kept.map(({ id }) => [id, places.get(id)!]));
}

export function rememberPlaces(graph: ProgramGraph, places: Places) {
  const parts = partsOf(graph);
  if (parts.length > MANY) return;
  remembered.delete(shown);
  remembered.set(shown, parts.map(({ id }) => places.get(id)));
  if (remembered.size > MOST) remembered.delete(remembered.keys().next().value!);
}

/** A graph's frames and nodes in the order of the text, whatever their ids are. */
const partsOf = (graph: ProgramGraph) => [
  ...graph.frames.map(({ id, parent }) => ({ id, frame: parent })),
  ...graph.nodes.map(({ id, frame }) => ({ id, frame })),
];
