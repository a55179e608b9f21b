#!/usr/bin/env python3
"""check_recipes.py SOURCE: the recipes in packaging/ name this version, options of Meson and files that there are."""
import json
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])


def read(name):
    return (source / name).read_text(encoding="utf-8")


version = re.search(r"version: '([\d.]+)'", read("meson.build"))[1]
options = set(re.findall(r"option\('(\w+)'", read("meson_options.txt")))
vcpkg = json.loads(read("packaging/vcpkg/vcpkg.json"))
named = {
    "vcpkg": vcpkg["version"],
    "conda": re.search(r"^  version: (\S+)", read("packaging/conda/recipe.yaml"), re.M)[1],
    "debian": re.match(r"tiletune \((\S+)-\d+\)", read("packaging/debian/changelog"))[1],
}
wrong = [f"{name}: version {found}, not {version}" for name, found in named.items() if found != version]
recipes = ["conda/recipe.yaml", "debian/rules", "spack/packages/tiletune/package.py", "vcpkg/portfile.cmake"]
for recipe in recipes:
    text = read(f"packaging/{recipe}")
    wrong += [f"{recipe}: meson_options.txt has no {name}" for name in re.findall(r"-D(\w+)=", text) if name not in options]
    for library in ("sqlite", "libmd", "zlib"):
        where = {"debian/rules": "debian/control", "vcpkg/portfile.cmake": "vcpkg/vcpkg.json"}.get(recipe, recipe)
        wrong += [] if library in read(f"packaging/{where}") else [f"{where}: no {library}"]
package = source / "packaging/spack/packages/tiletune/package.py"
compile(package.read_text(encoding="utf-8"), str(package), "exec")
if package.resolve().parents[4] != source.resolve():
    wrong.append(f"{package}: the clone is not four folders above it")
if wrong:
    sys.exit("\n".join(wrong))
print(version)
