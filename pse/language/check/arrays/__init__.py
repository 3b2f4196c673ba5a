"""Arrays of tags, `var f64[N / 2 ** l] u[l in 0 .. L]`: each `u[l]` is a tag whose index the checker knows.

So nothing behind the checker knows of arrays: loops whose counters are indices are unrolled.
"""
