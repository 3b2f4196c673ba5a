"""The generator's parts: `model` reads the tables, the others write one language each."""
