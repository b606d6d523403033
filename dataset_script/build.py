"""Builds the dataset's Hub folder: python dataset_script/build.py OUT [--corpus ...]."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from pmb_hf.dataset_build import build


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the dataset's Hub folder.")
    parser.add_argument("out", nargs="?", help="the folder to write")
    parser.add_argument("--corpus", default="native", help="native, official, or a directory")
    parser.add_argument("--fixtures", help="where upstream's files are, with --corpus official")
    parser.add_argument("--card", action="store_true", help="renew the card beside this script")
    arguments = parser.parse_args()
    if bool(arguments.out) == arguments.card:
        parser.error("give either the folder to write or --card")
    if arguments.card:
        with tempfile.TemporaryDirectory() as scratch:
            build(scratch)
            shutil.copyfile(Path(scratch) / "README.md", Path(__file__).parent / "README.md")
        return
    built = build(arguments.out, arguments.corpus, arguments.fixtures)
    for config, count in built.rows.items():
        print(f"{config}: {count} rows")
    print(f"corpus {built.corpus_sha256} -> {built.directory}")


if __name__ == "__main__":
    main()
