"""The package as a whole: what it is loaded with and into, and what its stubs say."""

import ast
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import leaf
from support import StoreCase

PACKAGE = Path(leaf.__file__).parent
SOURCE = Path(__file__).resolve().parents[2]


def run_python(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


class Library(unittest.TestCase):
    """What another libleaf leads to."""

    def output_with(self, version, lacks=(), node="LEAF_C_0"):
        header = (SOURCE / "lib/include/leaf/leaf.h").read_text()
        names = set(re.findall(r"^LEAF_API.*[ *](leaf_[a-z_]+)\(", header, re.MULTILINE)) - {"leaf_version"}
        with tempfile.TemporaryDirectory() as folder:
            functions = [f"void {name}(void) {{}}" for name in names - set(lacks)]
            source = f'const char* leaf_version(void) {{ return "{version}"; }}\n' + "\n".join(functions)
            Path(f"{folder}/map").write_text(f"{node} {{ global: leaf_*; }};")
            linked = ["-Wl,-soname,libleaf.so.0", f"-Wl,--version-script,{folder}/map", "-o", f"{folder}/libleaf.so.0"]
            subprocess.run(["cc", "-shared", "-fPIC", *linked, "-x", "c", "-"], input=source, check=True, text=True)
            path = f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"
            return run_python("import leaf; print(leaf.libleaf_version)", LD_LIBRARY_PATH=path)

    def test_an_older_one_is_named(self):
        for version in "0.0.9", "0.0.99":
            output = self.output_with(version)
            self.assertEqual(output.returncode, 1)
            self.assertIn(f"ImportError: libleaf {version} is loaded", output.stdout)

    def test_one_that_lacks_a_function_is_named(self):
        output = self.output_with("9.0.0", lacks=["leaf_tag_try_next"])
        self.assertEqual(output.returncode, 1)
        self.assertRegex(output.stdout, "ImportError: libleaf is older .*leaf_tag_try_next")
        self.assertIn("ImportError: libleaf is older", self.output_with("9.0.0", node="LEAF_C").stdout)

    def test_what_is_for_event_loops_is_loaded_when_it_is_asked_for(self):
        program = "import leaf, sys; print('asyncio' in sys.modules, leaf.aio.next.__name__); leaf.nothing"
        output = run_python(program).stdout
        self.assertEqual(output.splitlines()[0], "False next")
        self.assertIn("AttributeError: module 'leaf' has no attribute 'nothing'", output)

    def test_a_newer_one_is_taken(self):
        for version in leaf.__version__, "0.1.1", "0.2.0", "0.10.0", "1.0.0":
            self.assertEqual(self.output_with(version).stdout, f"{version}\n")

    def test_both_are_of_one_version(self):
        self.assertEqual(leaf.__version__, leaf.libleaf_version)


class Interpreters(StoreCase):
    def test_each_interpreter_has_classes_of_its_own(self):
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            self.skipTest("this Python has no such module")
        other = interpreters.create(isolated=False)  # with the same GIL
        program = f"""
import leaf
with leaf.allocator(**{self.options()!r}) as allocator:
    assert next(allocator.tag("order")) == 1
    try:
        next(allocator.tag("ordr"))
    except leaf.NotFound as error:
        assert id(leaf.NotFound) != {id(leaf.NotFound)}
"""
        interpreters.run_string(other, program)
        interpreters.destroy(other)
        self.assertEqual(next(self.tag()), 2)
        with self.assertRaises(leaf.NotFound):
            next(self.tag("ordr"))

    def test_handles_that_are_open_at_the_end_of_the_program(self):
        program = f"""
import leaf
class AtTheEnd:
    def __init__(self, *sources):
        self.sources = sources
    def __del__(self):
        for source in self.sources:
            next(source)
            try:
                source.take(-1)
            except ValueError:
                print("raised")
at_the_end = AtTheEnd(
    leaf.allocator(**{self.options()!r}).tag("order"), leaf.snowflake(**{self.options()!r})
)
"""
        output = run_python(program, PYTHONFAULTHANDLER="1")
        self.assertEqual((output.stdout, output.returncode), ("raised\nraised\n", 0))

    def test_threads_that_draw_at_the_end_of_the_program(self):
        program = f"""
import leaf, threading
def draw(source, first):
    source.take(100)
    first.set()
    for id in source:
        source.take(100)
for source in leaf.allocator(**{self.options()!r}).tag("order"), leaf.snowflake(**{self.options()!r}):
    first = threading.Event()
    threading.Thread(target=draw, args=(source, first), daemon=True).start()
    first.wait()
print("end")
"""
        output = run_python(program, PYTHONFAULTHANDLER="1")
        self.assertEqual((output.stdout, output.returncode), ("end\n", 0))

    def test_the_module_can_be_loaded_twice(self):
        loader = importlib.machinery.ExtensionFileLoader("leaf._leaf", str(PACKAGE / "_leaf.abi3.so"))
        spec = importlib.util.spec_from_loader("leaf._leaf", loader)
        again = importlib.util.module_from_spec(spec)
        loader.exec_module(again)
        self.assertIsNot(again.Layout, leaf.Layout)
        self.assertNotEqual(again.Layout("leaf"), leaf.Layout("leaf"))


class Stubs(unittest.TestCase):
    def test_they_name_what_there_is(self):
        tree = ast.parse((PACKAGE / "__init__.pyi").read_text())
        names, members = set(), {}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.level:
                names |= {alias.asname for alias in node.names}
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names.add(node.name)
                if isinstance(node, ast.ClassDef):
                    own = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
                    bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
                    members[node.name] = own.union(*(members.get(base, ()) for base in bases))
            elif isinstance(node, ast.AnnAssign):
                names.add(node.target.id)
        self.assertEqual({name for name in names if name[0] != "_"} | {"__version__"}, {*leaf.__all__, "__version__"})
        for name in "Allocator", "Tag", "Snowflake", "Store", "Layout":
            there = {member for member in vars(getattr(leaf, name)) if member[0] != "_"}
            self.assertEqual({member for member in members[name] if member[0] != "_"}, there, name)
        self.assertTrue((PACKAGE / "py.typed").exists())

    def test_mypy_agrees(self):
        with tempfile.TemporaryDirectory() as folder:
            program = str(Path(__file__).with_name("typed.py"))
            for arguments in ["mypy.stubtest", "leaf"], ["mypy", "--strict", "--cache-dir", folder, program]:
                checked = subprocess.run(
                    [sys.executable, "-m", *arguments],
                    cwd=folder,
                    env=os.environ | {"MYPYPATH": str(PACKAGE.parent)},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
                self.assertEqual(checked.returncode, 0, checked.stdout)


if __name__ == "__main__":
    unittest.main()
