"""Temperatures of the sea over days: their mean, what a day differs from it by, and pictures of both."""

import numpy as np

# Colours from the lowest value to the highest one.
COLOURS = ((24, 60, 140), (70, 150, 205), (245, 245, 235), (240, 160, 90), (165, 25, 40))
NOTHING = 130  # the grey of cells without a value


#@ coven module mask(inout f32 field[m, n], in f64 coldest, in f64 hottest)
def mask(field, coldest, hottest):
    """Take out what no sea has: clouds are colder, and land may be hotter."""
    field[~((field >= coldest) & (field <= hottest))] = np.nan


#@ coven module add(in f32 field[m, n], inout f64 total[m, n], inout i32 days[m, n])
def add(field, total, days):
    """Add a day to the sums of cells that it shows, and count it there."""
    shown = np.isfinite(field)
    np.add(total, field, out=total, where=shown)
    days += shown


#@ coven module mean(in f64 total[m, n], in i32 days[m, n], out f32 average[m, n])
def mean(total, days, average):
    """Give the mean of the days that show a cell; NaN where none does."""
    average[...] = np.divide(total, days, out=np.full(total.shape, np.nan), where=days > 0)


#@ coven module difference(in f32 field[m, n], in f32 average[m, n], out f32 anomaly[m, n])
def difference(field, average):
    """Give by how much a day is warmer than the mean."""
    return field - average


#@ coven module measure(in f32 field[m, n], out f64 total, out i64 cells)
def measure(field):
    """Give the sum of the cells that have a value, and their number."""
    return float(np.nansum(field, dtype=float)), int(np.isfinite(field).sum())


#@ coven module shade(in f32 field[m, n], in f64 low, in f64 high, out u8 picture[3, m, n])
def shade(field, low, high, picture):
    """Colour values: red, green and blue."""
    places = np.linspace(low, high, len(COLOURS))
    for channel, values in zip(picture, np.array(COLOURS).T, strict=True):
        channel[...] = np.nan_to_num(np.interp(field, places, values), nan=NOTHING)
