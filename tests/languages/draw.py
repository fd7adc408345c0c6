"""What mixed_storm.hpp asks of a program, in Python; its handles are opened before it forks."""

import os
import sys

import leaf


def serve(tag, generator):
    for count in map(int, sys.stdin):
        ids = []
        for i in range(count):
            ids.append(f"t{next(tag)}")
            if i % 4 == 0:
                ids.append(f"s{next(generator)}")
        print(*ids, ".", sep="\n", flush=True)


tag = leaf.allocator().tag("storm")
generator = leaf.snowflake(worker_name="storm")
child = os.fork()
if child == 0:
    serve(tag, generator)
else:
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status))
