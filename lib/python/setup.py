"""Builds the module against the libleaf that pkg-config finds; the rest is in pyproject.toml."""

import glob
import subprocess

from setuptools import Extension, setup


def pkg_config(*arguments):
    command = ["pkg-config", *arguments, "leaf"]
    try:
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"libleaf is not found: install libleaf-dev and pkg-config, or set PKG_CONFIG_PATH ({error})")


(version,) = pkg_config("--modversion")
(folder,) = pkg_config("--variable=libdir")
# In a folder of its own the loader has to be told where it is.
runtime = [] if folder.startswith(("/usr/lib", "/lib")) else [f"-Wl,-rpath,{folder}"]

setup(
    ext_modules=[
        Extension(
            "leaf._leaf",
            sources=sorted(glob.glob("src/*.c")),
            depends=sorted(glob.glob("src/*.h")),
            define_macros=[("LEAF_BUILT_FOR", f'"{version}"'), ("Py_LIMITED_API", "0x030b0000")],
            extra_compile_args=["-std=c11", "-fvisibility=hidden", *pkg_config("--cflags")],
            extra_link_args=[*pkg_config("--libs"), *runtime, "-Wl,-z,now"],
            py_limited_api=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
