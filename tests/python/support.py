"""What the tests of the Python package start from: a store and a folder for the host's buffers, both their own."""

import contextlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import unittest
import uuid

import leaf

STORE = os.environ.get("TEST_STORE", "sqlite")


class StoreCase(unittest.TestCase):
    """Each test has a store with the tag `order`, of small steps, so that fetches are many."""

    step = 10

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        if STORE == "postgresql":
            if "PGHOST" not in os.environ:
                self.fail("there is no PostgreSQL: did you mean to run scripts/test?")
            database = f"leaf_python_{uuid.uuid4().hex}"
            subprocess.run(["createdb", "--strategy=file_copy", database], check=True)
            self.addCleanup(subprocess.run, ["dropdb", "--force", database], check=True)
            self.url = f"postgresql:///{database}"
        else:
            self.url = f"sqlite:{self.folder}/leaf.db"
        self.run_dir = f"{self.folder}/run"
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("LEAFCTL_", "XDG_"))
        }
        self.environment |= {
            "HOME": self.folder,
            "LEAFCTL_STORE": self.url,
            "LEAFCTL_RUNTIME_DIR": self.run_dir,
            "LEAFCTL_CONFIG": "/dev/null",
        }
        self.leafctl("-q", "init-db")
        self.leafctl("-q", "add-tag", "order", "--step", str(self.step))

    def leafctl(self, *arguments):
        return subprocess.run(
            ["leafctl", *arguments], env=self.environment, check=True, stdout=subprocess.PIPE, text=True
        ).stdout.strip()

    def options(self, **more):
        """Those of the host that the program of `leafctl` goes by."""
        return {"store": self.url, "runtime_dir": self.run_dir, "use_host_defaults": False} | more

    def of_one_process(self, **more):
        return {"store": self.url, "use_host_defaults": False} | more

    def allocator(self, **more):
        """Closed before the store is removed."""
        allocator = leaf.allocator(**self.options(**more))
        self.addCleanup(allocator.close)
        return allocator

    def tag(self, name="order", **more):
        return self.allocator(**more).tag(name)

    def snowflake(self, **more):
        generator = leaf.snowflake(**self.options(**more))
        self.addCleanup(generator.close)
        return generator

    def store(self):
        store = leaf.store(**self.options())
        self.addCleanup(store.close)
        return store

    def assertIncreasing(self, ids):
        self.assertTrue(all(a < b for a, b in zip(ids, ids[1:])), "they do not increase")

    def assertNoneTwice(self, *lists):
        every = [id for ids in lists for id in ids]
        self.assertEqual(len(every), len(set(every)), "an ID came twice")


class Child:
    """A forked process that writes the IDs that `draw` yields to a pipe. It ends with 0 unless that raises."""

    def __init__(self, draw):
        read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                os.close(read)
                for id in draw():
                    os.write(write, struct.pack("q", id))
                status = 0
            except BrokenPipeError:
                pass
            finally:
                os._exit(status)
        os.close(write)
        self.pipe = open(read, "rb")

    def read(self, count):
        """As many of its IDs, once there are."""
        return [id for (id,) in struct.iter_unpack("q", self.pipe.read(count * 8))]

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)

    def end(self):
        """The IDs that were not read, and its status: less than 0 if it was killed."""
        data = self.pipe.read()
        self.pipe.close()
        _, status = os.waitpid(self.pid, 0)
        ids = [id for (id,) in struct.iter_unpack("q", data[: len(data) // 8 * 8])]
        return ids, os.waitstatus_to_exitcode(status)


@contextlib.contextmanager
def silent_server():
    """A server whose connections wait until refuse() ends them: a store's URL, and the socket to accept with."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        yield f"postgresql://127.0.0.1:{server.getsockname()[1]}/ids?sslmode=disable&gssencmode=disable", server


def refuse(connection):
    """As PostgreSQL does where a password is wrong, so that nobody tries again."""
    fields = b"SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed\0\0"
    connection.sendall(b"E" + struct.pack("!i", len(fields) + 4) + fields)
    connection.close()
