"""Command lines: on one host by mpirun, on two by scripts/two-hosts, or by the launcher of a batch system."""
import os
import pathlib
import shlex
import shutil
import signal
import subprocess

import applications

ROOT = pathlib.Path(__file__).resolve().parents[3]
SKIPPED = 77  # exit status of scripts/two-hosts on a machine that permits no network namespaces
TIMED_OUT = 124
ERROR_CHARACTERS = 300
# Without --ntasks-per-node srun fills the first host.
SRUN = ["-N", "{hosts}", "-n", "{ranks}", "--ntasks-per-node", "{ranks_per_host}"]
INTERRUPTS = {signal.SIGINT, signal.SIGTERM}


def unblock_interrupts():
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)


class Launcher:
    """`template` is empty, or a command such as "srun" with {hosts}, {ranks} and {ranks_per_host}; without them SRUN is
    appended. `mpich_template` is that for programs of MPICH, which Open MPI's launcher may start as jobs of one process."""

    def __init__(self, build_dir, template="", peers=applications.PEERS, mpich_template=""):
        self.build_dir = pathlib.Path(build_dir)
        self.templates = {"openmpi": template, "mpich": mpich_template}
        self.launched = template != ""
        self.peers = pathlib.Path(peers)

    def program(self, run):
        if run.in_peers:
            return self.peers / run.program
        return (ROOT if run.in_checkout else self.build_dir) / "bench" / run.program

    def has(self, run):
        return not self.lacks(run)

    def lacks(self, run):
        """The reason why the run cannot be started; empty if its program was built and what starts it is there."""
        if self.launched and run.ranks and not self.templates[run.mpi]:
            return "--launcher starts programs of Open MPI, and --mpich-launcher is not given"
        if self.program(run).exists() and (self.launched or run.mpi == "openmpi" or run.hosts == 2 or
                                           shutil.which(f"mpirun.{run.mpi}") is not None):
            return ""
        return f"{run.program} is missing, which needs {run.packages}"

    def command(self, run, seed=None):
        """env sets the variables at every process, on whatever host."""
        variables = [f"{name}={value}" for name, value in run.environment]
        if seed is not None:
            variables.append(f"BENCH_SEED={seed}")
        started = [*(["env", *variables] if variables else []), str(self.program(run)), *run.arguments]
        if run.ranks == 0:
            return started
        if self.launched:
            return [*self.from_template(run), *started]
        if run.hosts == 2:
            other = ["--mpich"] if run.mpi == "mpich" else []
            return [str(ROOT / "scripts" / "two-hosts"), *other, "--ranks-per-host", str(run.ranks // 2), "--", *started]
        mpirun = shutil.which(f"mpirun.{run.mpi}") or shutil.which("mpirun") or "mpirun"
        cores = len(os.sched_getaffinity(0))
        if run.mpi == "mpich":
            return [mpirun, *(["-bind-to", "core"] if run.ranks <= cores else []), "-np", str(run.ranks), *started]
        bound = run.bound and run.ranks <= cores
        placement = ["--bind-to", "core"] if bound else ["--oversubscribe", "--bind-to", "none"]
        return [mpirun, *placement, "-np", str(run.ranks), *started]

    def from_template(self, run):
        words = shlex.split(self.templates[run.mpi])
        numbers = {"{hosts}": run.hosts, "{ranks}": run.ranks, "{ranks_per_host}": -(-run.ranks // run.hosts)}
        if not any(name in word for name in numbers for word in words):
            words += SRUN
        for name, number in numbers.items():
            words = [word.replace(name, str(number)) for word in words]
        return words

    def shown(self, run):
        """The command for a reader, from the top of the checkout."""
        words = [word.replace(f"{ROOT}/", "") for word in self.command(run)]
        if pathlib.Path(words[0]).name.startswith("mpirun"):
            words[0] = "mpirun" if run.mpi == "openmpi" else f"mpirun.{run.mpi}"
        return shlex.join(words)

    def start(self, run, seed, timeout):
        """(exit status, output, end of the errors). A program that does not end is killed with all of its processes."""
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OPENBLAS_NUM_THREADS="1")
        process = None
        signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)  # or one could leave a program that has just been started
        try:
            process = subprocess.Popen(self.command(run, seed), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True,
                                       preexec_fn=unblock_interrupts)
            unblock_interrupts()
            output, errors = process.communicate(timeout=timeout)
            return process.returncode, output, errors.strip()[-ERROR_CHARACTERS:]
        except subprocess.TimeoutExpired:
            self.stop(process)
            return TIMED_OUT, "", f"no result within {timeout} s"
        except BaseException:
            if process is not None:
                self.stop(process)
            raise
        finally:
            unblock_interrupts()

    @staticmethod
    def stop(process):
        """Sends SIGTERM first, on which scripts/two-hosts removes its network namespaces."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
                process.communicate(timeout=10)
                return
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue
