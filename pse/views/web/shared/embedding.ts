// What the page of a time line and the document that it is embedded in tell each other.

export interface Shown {
  category: string; // call, wait, routine, state
  label: string;
  place: string; // FILE:LINE:COLUMN of a call
  rank: number;
  begin: number; // ns since the run's origin
  end: number;
}

// The page tells what is seen: the part of its address after `#`, the window, the selected block.
export interface Seen {
  pse: "seen";
  address: string;
  begin: number;
  end: number;
  selected: Shown | null;
}

// The document asks for something else to be seen.
export interface Show {
  pse: "show";
  address: string;
}
