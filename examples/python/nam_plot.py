"""A live plot of the window that nam_producer has left at a memory server: each rank's memory as a line, read again in
every frame. The job that writes the window is not disturbed.

  python3 nam_plot.py "$(mpix-nam lookup field)"                  shows a figure until it is closed
  python3 nam_plot.py "$(mpix-nam lookup field)" --file plot.png  writes one frame
"""
import argparse
import sys
from typing import Any, List

import mpix_rma as rma
import numpy
from mpi4py import MPI


def regions(window: MPI.Win) -> List[Any]:
    """The memory of each rank that created the window, as arrays: the memory itself on the server's host."""
    arrays: List[Any] = []
    try:
        while True:
            rma.win_query(window, len(arrays))
            memory: Any = window.Shared_query(len(arrays))[0]
            arrays.append(numpy.frombuffer(memory, "i4"))
    except rma.Error as error:
        if error.error_class != MPI.ERR_RANK:
            raise
    return arrays


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", help="port name of the window")
    parser.add_argument("--file", help="write one frame to this file")
    parser.add_argument("--interval", type=float, default=0.5, help="seconds between frames")
    arguments = parser.parse_args()
    import matplotlib  # type: ignore[import]

    if arguments.file:
        matplotlib.use("Agg")
    from matplotlib import pyplot

    window = rma.win_connect(arguments.port, MPI.COMM_SELF)
    figure, axes = pyplot.subplots()
    axes.set_xlabel("element")
    axes.set_ylabel("value")
    lines = [axes.plot(values, marker="o", label=f"rank {rank}")[0] for rank, values in enumerate(regions(window))]
    axes.legend()
    while not arguments.file and pyplot.fignum_exists(figure.number):
        for line, values in zip(lines, regions(window)):
            line.set_ydata(values)
        axes.relim()
        axes.autoscale_view()
        pyplot.pause(arguments.interval)
    if arguments.file:
        figure.savefig(arguments.file)
        print(f"{len(lines)} lines in {arguments.file}")
    window.Free()
    return 0


if __name__ == "__main__":
    sys.exit(main())
