# spack repo add packaging/spack && spack install tiletune
from pathlib import Path

from spack.package import *


class Tiletune(MesonPackage):
    """Finds the fastest configuration of a CUDA kernel for this GPU by measuring, and remembers it."""

    git = Path(__file__).resolve().parents[4].as_uri()  # the clone that this file is in
    license("Apache-2.0")
    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("meson@1:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("cuda@12:")
    depends_on("libmd")
    depends_on("sqlite@3.37:")
    depends_on("zlib-api")

    def meson_args(self):
        cuda = self.spec["cuda"].prefix
        return ["-Dtests=false", "-Dcubins=all", f"-Dtoolkit_include={cuda.include}", f"-Dnvrtc_dir={cuda.lib64}"]
