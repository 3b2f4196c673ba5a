"""Sizes, times, shares and lists as people read them."""

import pytest

from pse import text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((0, "0 ns"), (999, "999 ns"), (1000, "1.00 µs"), (9_996, "10.0 µs"), (999_400, "999 µs")),
        *((999_600, "1.00 ms"), (123_456_789, "123 ms"), (61e9, "61.0 s"), (3.6e12, "3,600 s")),
    ],
)
def test_times_have_three_digits(value, expected):
    assert text.time_text(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((0, "0 B"), (1023, "1,023 B"), (1024, "1.00 KiB"), (1023 << 10, "1,023 KiB")),
        *((1 << 28, "256 MiB"), (3 << 29, "1.50 GiB"), (1 << 55, "32.0 PiB"), (1 << 72, "4,096 EiB")),
    ],
)
def test_sizes_have_three_digits(value, expected):
    assert text.size_text(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, "0"), (0.9996, "1"), (9.994, "9.994"), (99.96, "99.96"), (1000.4, "1,000"), (-64.5, "-64.5")],
)
def test_zeros_at_the_end_can_be_left_out(value, expected):
    assert text.number_text(value, 4, zeros=False) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, "0.00"), (0.0123, "0.012"), (0.5, "0.50"), (9.999, "10.0"), (12.34, "12.3"), (12345.6, "12,346")],
)
def test_numbers_are_written_without_exponents(value, expected):
    assert text.number_text(value) == expected
