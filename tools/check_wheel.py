"""Check that a wheel holds exactly the package files of the tree: `check_wheel.py TREE WHEEL`.

A sub-package or data file missing from pyproject.toml works in an editable install and is absent
from the wheel; nothing else would notice.
"""

import sys
import zipfile
from pathlib import Path


def main(tree: str, wheel: str) -> int:
    """Compare the names below `pgsr/` in both; print what differs and return the exit code."""
    on_disk = {path.relative_to(tree).as_posix() for path in Path(tree, "pgsr").rglob("*") if path.is_file()}
    in_wheel = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("pgsr/")}
    for name in sorted(on_disk - in_wheel):
        print(f"{wheel}: lacks {name}: add its package or package-data to pyproject.toml", file=sys.stderr)
    for name in sorted(in_wheel - on_disk):
        print(f"{wheel}: holds {name}, which is not in the tree: make clean", file=sys.stderr)
    return int(on_disk != in_wheel)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
