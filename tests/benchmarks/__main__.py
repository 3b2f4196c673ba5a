"""The command line of these benches: that of ``pse bench``, with other subjects."""

from pse.bench import Subject
from pse.cli._options.group import guarded
from pse.cli.bench import bench_command

SUBJECTS = (
    Subject("warm", "allocate, touch and free 64 MiB of shared memory, again and again", "benchmarks"),
    Subject("control", "what it costs that all processors go on together, how that grows", "benchmarks"),
)

if __name__ == "__main__":
    with guarded():
        bench_command(SUBJECTS)(prog_name="python -m benchmarks")
