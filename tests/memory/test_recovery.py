"""A rank that dies at any instruction of any operation leaves an arena that the next one can use."""

import subprocess

import pytest

NOT_ALLOWED = 77


@pytest.fixture(scope="module")
def die_anywhere(compiled):
    return compiled("die_anywhere")


# Every n-th instruction: a stride of 1 takes a minute in all, and was seen to pass.
@pytest.mark.parametrize(
    ("operation", "stride", "takeovers"),
    [
        ("reuse", 5, 20),
        ("release", 3, 20),
        ("break_up", 7, 20),
        ("merge", 23, 20),
        ("view", 11, 20),
        ("share", 11, 20),
        ("fresh", 15013, 0),  # Nearly all of it is reading how much memory there is, without the lock.
    ],
)
def test_dying_anywhere_does_no_harm(die_anywhere, operation, stride, takeovers):
    ended = subprocess.run(
        [die_anywhere, operation, str(stride)], capture_output=True, text=True, timeout=120
    )
    if ended.returncode == NOT_ALLOWED:
        pytest.skip("this machine doesn't allow ptrace")
    assert ended.returncode == 0, ended.stderr
    deaths, recoveries = map(int, ended.stdout.split())
    assert deaths >= recoveries >= takeovers
