"""Squares, and a module that may not like one."""

import time


# @ coven module square(in i64 k, in i64 wrong, in f64 pause, out f64 x)
def square(k, wrong, pause):
    time.sleep(pause)
    if wrong and k == wrong:
        raise ValueError(f"{k} is not liked")
    return float(k * k)
