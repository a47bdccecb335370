"""Build `.typing/pgsr/`: the package as one real folder tree whose files are links.

The folders `models`, `solvers`, `inequality` and `sae` become packages below `pgsr` only through
setuptools' `package-dir`. mypy and import-linter read folders, not the hook of an editable
install, so they are given this tree. Folders are real and files are links: both tools follow
linked files, not linked folders.
"""

import shutil
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TREE = ROOT / ".typing"


def main() -> None:
    """Rebuild the tree from scratch, so that deleted modules vanish from it."""
    mapping = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]
    shutil.rmtree(TREE / "pgsr", ignore_errors=True)
    for package, folder in mapping.items():
        source = ROOT / folder
        for path in sorted(source.rglob("*")):
            # Compiled modules and numba's kernels are no part of the package.
            if path.is_dir() or "__pycache__" in path.parts:
                continue
            link = TREE.joinpath(*package.split("."), path.relative_to(source))
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)


if __name__ == "__main__":
    main()
