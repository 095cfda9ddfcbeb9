"""Files that the commands of the documents name, such as the reader's own program, checks, and programs for snippets."""

# Documents, besides docs/tutorials/, whose first commands work in a shell that does not know the installation.
TUTORIALS = ("docs/cpp.md", "docs/nam.md", "docs/python.md", "docs/windows.md")

# By document and section: commands that run before each block. SOURCE is the checkout.
FILES = {
    ("README.md", "Where to go"): ["cp SOURCE/examples/work_queue.c program.c"],
    ("docs/windows.md", "MPI's windows on this library"): ["cp SOURCE/examples/windows.c program.c", "mpicc program.c -o program"],
    ("docs/tutorials/first-transfer.md", "Compile and run"): ["cp SOURCE/examples/put_get.c first.c; cp SOURCE/examples/course.h ."],
    ("docs/global-arrays.md", "Linking"): ["cp SOURCE/examples/ga_matmul.c program.c",
                                              "cp SOURCE/tests/docs/programs/ga.F90 program.F90"],
    ("docs/hosts.md", "MPI hosts: supported MPI libraries"): [
        "cp SOURCE/examples/work_queue.c program.c",
        "[ -e program ] || cc program.c $(pkg-config --cflags --libs mpix-rma) -o program"],
    ("docs/installing.md", "From source"): ["tar -C SOURCE --exclude=./build --exclude=./.git -c . | tar -x"],
    ("docs/python.md", "A first program"): [
        "awk '/^```python/ { on = 1; next } /^```/ && on { exit } on' SOURCE/docs/python.md > first.py"],
    ("docs/python.md", "Install"): ["cp -r SOURCE/python .", "export CFLAGS=-O0"],
}

# By document and section: commands that run after each block, and show that the block has worked.
CHECKS = {
    ("README.md", "Where to go"): ["(cd / && mpirun -np 2 \"$OLDPWD/program\")"],
    # A second run replaces the window of the first.
    ("docs/nam.md", "Two jobs in five commands"): [
        "[ -z \"${MPIX_NAM_ALLOCATION-}\" ] || { mpirun -np 2 ./nam_producer field; mpirun -np 1 ./nam_consumer field; }"],
    ("docs/python.md", "A first program"): [
        "mpirun -np 1 python3 first.py | grep -x '0 has .0. 0. 0. 0. 0. 0. 0. 0. 0. 0..' > /dev/null"],
    ("docs/python.md", "Install"): [
        "[ ! -e venv ] || env -u PYTHONPATH venv/bin/python -c \"import mpix_rma; assert '/venv/' in mpix_rma.__file__, mpix_rma.__file__\""],
    ("docs/global-arrays.md", "Linking"): [
        "! ldd program | grep libmpi.so > /dev/null || mpirun -np 2 ./program"],
}

# Programs around a document's snippets in a language: (document, language): [(file, commands)]. In the programs, the
# Nth block of that language replaces the line `snippet N`.
PROGRAMS = {
    ("README.md", "c"): [
        ("readme.c", ["cc -Wall readme.c $(pkg-config --cflags --libs mpix-rma) -o readme",
                      "mpirun -np 2 ./readme | sort > out; printf 'rank 0 has 1\\nrank 1 has 0\\n' | diff - out"]),
        ("readme_window.c", ["cc -Wall readme_window.c $(pkg-config --cflags --libs mpix-rma) -o readme_window",
                             "mpirun -np 2 ./readme_window"])],
    ("docs/tutorials/first-transfer.md", "c"): [
        ("attributes.c", ["cc -Wall attributes.c $(pkg-config --cflags --libs mpix-rma) -o attributes",
                                 "mpirun -np 2 ./attributes"])],
    ("docs/fortran.md", "fortran"): [("fortran.f90", [
        "mpifort fortran.f90 $(pkg-config --cflags --libs mpix-rma-fortran) -o fortran_program", "mpirun -np 2 ./fortran_program"])],
    ("docs/semantics.md", "c"): [("semantics.c", ["cc -Wall semantics.c $(pkg-config --cflags --libs mpix-rma) -o semantics",
                                                  "mpirun -np 2 ./semantics"])],
    ("docs/cpp.md", "cpp"): [("cpp.cpp", [
        "c++ -std=c++20 -Wall -Wextra cpp.cpp $(pkg-config --cflags --libs mpix-rma) -o cpp",
        "mpirun -np 2 ./cpp > out; grep -c 'target_rank -1' out | grep -qx 2"])],
    ("docs/nam.md", "c"): [("nam.c", ["cc -Wall nam.c $(pkg-config --cflags --libs mpix-rma) -o nam", "mpirun -np 1 ./nam"])],
    ("docs/python.md", "python"): [("python.py", ["mpirun -np 2 --oversubscribe python3 python.py"])],
    ("docs/nam.md", "python"): [("nam.py", ["mpirun -np 2 --mca osc mpix python3 nam.py \"$(mpix-nam lookup field)\""])],
}
