#!/usr/bin/env python3
"""Write the bill of materials of wattgate and its VEX file in the format CycloneDX.

    python tools/sbom.py              # writes build/sbom.cdx.json and build/vex.cdx.json
    python tools/sbom.py --stamped    # with the time and a serial number

The bill has the packages of the lock files. The VEX file has the statements of tools/supply/vex.toml: what known
vulnerabilities mean for wattgate. Without `--stamped`, the same content gives the same bytes.
"""

import argparse
import os
from pathlib import Path

from supply.bom import build_bom
from supply.licences import outdated
from supply.locks import DEVELOPMENT_LOCK, ROOT, read_pins
from supply.policy import read_policy
from supply.statements import read_statements
from supply.vex import build_vex

VEX_NAME = "vex.cdx.json"


def main() -> None:
    """Write both files and print their paths. Licences come from the installed packages, which must be locked ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "sbom.cdx.json", help="path of the bill")
    parser.add_argument("--stamped", action="store_true", help="add the time and a serial number")
    options = parser.parse_args()
    if missing := outdated(read_pins(DEVELOPMENT_LOCK)):
        parser.error(f"not installed in the locked version: {', '.join(missing)}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    vex = options.output.with_name(VEX_NAME)
    options.output.write_text(build_bom(read_policy(), stamped=options.stamped))
    vex.write_text(build_vex(read_statements(), stamped=options.stamped))
    print(os.path.relpath(options.output), os.path.relpath(vex), sep="\n")


if __name__ == "__main__":
    main()
