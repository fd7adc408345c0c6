#!/usr/bin/python3
"""What an ID costs in Python, beside uuid.uuid4(): python_next.py BUILD

From the host's buffer, in one process; each figure is the median of rounds that take turns. The loop's own cost is in all
figures, and is shown. Best with a build of CMAKE_BUILD_TYPE=Release and LEAF_PYTHON=ON.
"""

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid

ROUNDS = 15


def cost(draw, count):
    """Nanoseconds that a call takes."""
    begin = time.perf_counter_ns()
    for _ in itertools.repeat(None, count):
        draw()
    return (time.perf_counter_ns() - begin) / count


def cost_of_next(source, count):
    begin = time.perf_counter_ns()
    for _ in itertools.repeat(None, count):
        next(source)
    return (time.perf_counter_ns() - begin) / count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--count", type=int, default=200_000, help="calls in a round")
    arguments = parser.parse_args()
    sys.path.insert(0, os.path.join(arguments.build, "lib/python"))
    import leaf

    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        url = f"sqlite:{folder}/leaf.db"
        program = os.path.join(arguments.build, "bin/leafctl")
        subprocess.run([program, "-q", "--store", url, "init-db"], check=True)
        subprocess.run([program, "-q", "--store", url, "add-tag", "order", "--step", "1000000"], check=True)
        options = {"store": url, "runtime_dir": f"{folder}/run", "use_host_defaults": False}
        with leaf.allocator(**options) as allocator, leaf.snowflake(**options) as snowflake:
            order = allocator.tag("order")
            integers = iter(range(10**12))
            count = arguments.count
            # By what is called, in the order in which it is shown.
            benches = {
                "next(an iterator of range)": lambda: cost_of_next(integers, count),
                "next(tag)": lambda: cost_of_next(order, count),
                "next(snowflake)": lambda: cost_of_next(snowflake, count),
                "tag.take(1000), an ID": lambda: cost(lambda: order.take(1000), count // 1000) / 1000,
                "snowflake.take(1000), an ID": lambda: cost(lambda: snowflake.take(1000), count // 1000) / 1000,
                "uuid.uuid4()": lambda: cost(uuid.uuid4, count // 10),
            }
            figures = {name: [] for name in benches}
            for _ in range(ROUNDS):
                for name, bench in benches.items():
                    figures[name].append(bench())
            for name, costs in figures.items():
                print(f"{name:<28}{statistics.median(costs):9.1f} ns  (fastest {min(costs):.1f})")


if __name__ == "__main__":
    main()
