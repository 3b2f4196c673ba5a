"""The vegetation index of scenes, its maximum over days, and its picture."""

import numpy as np

LEAST = -1.5  # below every index
# Colours of indices: water, bare and built land, sparse and dense green.
COLOURS = {
    -0.5: (38, 70, 120),
    -0.25: (150, 140, 135),
    0.0: (212, 196, 160),
    0.25: (186, 196, 96),
    0.5: (86, 148, 60),
    0.85: (10, 78, 30),
}
NOTHING = 255  # no scene was clear here


#@ coven module vegetation_index(in f32 red[m, n], in f32 infrared[m, n], in f64 bright, out f32 index[m, n])
def vegetation_index(red, infrared, bright, index):
    """Give the normalised difference; clouds, which reflect more red light than `bright`, have none."""
    total = red + infrared
    usable = (red <= bright) & (total > 0)
    index[...] = np.nan
    np.divide(infrared - red, total, where=usable, out=index)


#@ coven module keep_highest(in f32 index[m, n], inout f32 best[m, n])
def keep_highest(index, best):
    """Keep the highest index so far; NaN counts as none."""
    np.fmax(index, best, out=best)


#@ coven module finish(inout f32 best[m, n], out i64 never)
def finish(best):
    """Make cells that no scene shows clearly NaN, and count them."""
    never = best < LEAST
    best[never] = np.nan
    return int(never.sum())


#@ coven module colours(in f32 index[m, n], out u8 picture[3, m, n])
def colours(index, picture):
    """Colour an index: red, green and blue."""
    for channel, values in zip(picture, np.array(list(COLOURS.values())).T, strict=True):
        channel[...] = np.nan_to_num(np.interp(index, list(COLOURS), values), nan=NOTHING)
