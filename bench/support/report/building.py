"""Brings the programs of the report up to date, so that the figures are of the commit that the page names."""
import pathlib
import re
import subprocess

from .launch import ROOT

COMPONENT = "mca_osc_mpix"
LOG = "report.log"


def bring_up_to_date(build_dir, programs, tell):
    """Builds what the build system has of `programs`. A directory without a configured build, such as an installed tree, is
    taken as it is; the default one is configured first."""
    build_dir = pathlib.Path(build_dir)
    if not (build_dir / "CMakeCache.txt").exists():
        if build_dir.exists() or build_dir != ROOT / "build" / "release":
            return
        build_dir.mkdir(parents=True)
        run(["cmake", "--preset", "release", "-S", str(ROOT)], build_dir, tell)
    listing = subprocess.run(["cmake", "--build", str(build_dir), "--target", "help"], capture_output=True, text=True)
    if listing.returncode != 0:  # the build system could not be generated for the present source
        raise SystemExit(f"bench/report: {build_dir} cannot be configured:\n{listing.stdout}{listing.stderr}")
    known = listing.stdout
    targets = sorted(name for name in {COMPONENT, *programs} if re.search(rf"^(?:\.\.\. )?{re.escape(name)}\b", known, re.MULTILINE))
    if targets:
        run(["cmake", "--build", str(build_dir), "--target", *targets], build_dir, tell)


def run(command, build_dir, tell):
    tell(f"  building: {' '.join(command[:3])}")
    log = build_dir / LOG
    with open(log, "ab") as out:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT)
    if done.returncode != 0:
        raise SystemExit(f"bench/report: {' '.join(command[:3])} failed: {log}")
