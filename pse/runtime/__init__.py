"""Running programs: launch, projection onto ranks, the sequencer, routing, failures."""
