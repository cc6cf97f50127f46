"""How long the book takes to build: with every chapter run, and with all of them in the cache.

Run by hand: ``python tests/benchmarks/build_time.py``. It builds into a temporary folder and leaves
the site alone. Not a test: clocks on shared machines are not evidence enough to fail a build.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]


def seconds_to_build(output: Path, *options: str) -> float:
    """Build the book into ``output``; exits with the log if that fails."""
    tool = Path(sys.executable).with_name("jupyter-book")
    command = [str(tool), "build", str(ROOT), "--path-output", str(output), *options]
    start = time.perf_counter()
    run = subprocess.run(command, capture_output=True, text=True, cwd=output)
    seconds = time.perf_counter() - start
    if run.returncode:
        sys.exit(run.stdout + run.stderr)
    return seconds


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder)
        print(f"{'every chapter run':28s}{seconds_to_build(output):8.1f} s")
        print(f"{'all chapters in the cache':28s}{seconds_to_build(output, '--all'):8.1f} s")
        site = output / "_build" / "html"
        files = [path for path in site.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        print(f"{'size of the site':28s}{size / 1e6:8.1f} MB in {len(files)} files")


if __name__ == "__main__":
    main()
