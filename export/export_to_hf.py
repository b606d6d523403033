"""Writes the export folder: python export/export_to_hf.py REPORT... [-o hf_export].

The same as `pmb export`, which says what there is to choose (--help).
"""

from __future__ import annotations

import sys

from pmb_hf.cli import app

if __name__ == "__main__":
    sys.exit(app(["export", *sys.argv[1:]], standalone_mode=False))
