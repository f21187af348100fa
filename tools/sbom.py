#!/usr/bin/env python3
"""Write the bill of materials of wattgate in the format CycloneDX, from the lock files.

    python tools/sbom.py              # writes build/sbom.cdx.json
    python tools/sbom.py --stamped    # with the time and a serial number

Without `--stamped`, the same lock files give the same bytes.
"""

import argparse
import os
from pathlib import Path

from supply.bom import build_bom
from supply.licences import outdated
from supply.locks import DEVELOPMENT_LOCK, ROOT, read_pins
from supply.policy import read_policy


def main() -> None:
    """Write the file and print its path. Licences come from the installed packages, which must be the locked ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "sbom.cdx.json", help="path of the file")
    parser.add_argument("--stamped", action="store_true", help="add the time and a serial number")
    options = parser.parse_args()
    if missing := outdated(read_pins(DEVELOPMENT_LOCK)):
        parser.error(f"not installed in the locked version: {', '.join(missing)}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(build_bom(read_policy(), stamped=options.stamped))
    print(os.path.relpath(options.output))


if __name__ == "__main__":
    main()
