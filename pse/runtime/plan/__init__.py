"""The plan of a rank: lowering of the program to the tables that the engine runs."""
