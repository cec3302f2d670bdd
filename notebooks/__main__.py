"""Builds the site: `python -m notebooks`, from the root of a checkout, with the extra `site` installed."""

import argparse
import sys
from pathlib import Path

from .site.build import build

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m notebooks", description="Build the documentation as a static site."
    )
    parser.add_argument(
        "--out", type=Path, default=Path("build/site"), help="folder of the pages (default: build/site)"
    )
    sys.exit(build(parser.parse_args().out))
