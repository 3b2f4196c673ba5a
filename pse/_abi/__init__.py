"""What Python shares with C and Cython: made from the tables of cext/abi, but for this file."""
