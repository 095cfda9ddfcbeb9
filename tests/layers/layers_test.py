"""The check of the layers, on small trees that break its rules one by one."""

import pathlib
import tempfile
import unittest
import unittest.mock

import layers


class Offences(unittest.TestCase):
    def of(self, files):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory).resolve()
            for name, text in files.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return layers.check(root)

    def test_downwards(self):
        self.assertEqual([], self.of({
            "engine/a.hpp": "#include <ucp/api/ucp.h>\n",
            "datatype/b.hpp": '#include "engine/a.hpp"\n#include <mpi.h>\n',
            "mpix/c.cpp": '#include "datatype/b.hpp"\n#include "engine/a.hpp"\n',
            "armci/d.cpp": '#include "mpix/e.hpp"\n',
            "mpix/e.hpp": "",
        }))

    def test_upwards(self):
        self.assertEqual(["engine/a.cpp:2: engine/ does not stand on mpix/: mpix/b.hpp"], self.of({
            "engine/a.cpp": '#include <vector>\n  #  include "mpix/b.hpp"\n',
            "mpix/b.hpp": "",
        }))

    def test_upwards_by_a_relative_path(self):
        self.assertEqual(["datatype/a.cpp:1: datatype/ does not stand on mpix/: ../mpix/b.hpp"], self.of({
            "datatype/a.cpp": '#include "../mpix/b.hpp"\n',
            "mpix/b.hpp": "",
        }))

    def test_sideways(self):
        self.assertEqual(["mpi-windows/a.cpp:1: mpi-windows/ does not stand on mpix/: mpix/b.hpp"], self.of({
            "mpi-windows/a.cpp": '#include "mpix/b.hpp"\n',
            "mpix/b.hpp": "",
        }))

    def test_up_inside_of_a_layer(self):
        with unittest.mock.patch.dict(layers.LEVELS, {"engine": [["base"], ["op/kernel"], ["op"], ["proto"]]}):
            self.assertEqual(["engine/base/a.hpp:1: engine/base/ does not stand on engine/proto/: engine/proto/b.hpp"], self.of({
                "engine/base/a.hpp": '#include "engine/proto/b.hpp"\n',
                "engine/proto/b.hpp": '#include "engine/op/kernel/c.hpp"\n',
                "engine/op/kernel/c.hpp": '#include "engine/base/a.hpp"\n',
                "engine/op/e.hpp": '#include "engine/op/kernel/c.hpp"\n',
                "engine/d.cpp": '#include "engine/proto/b.hpp"\n',
            }))

    def test_sideways_inside_of_a_layer(self):
        with unittest.mock.patch.dict(layers.LEVELS, {"engine": [["base"], ["op", "net"]]}):
            self.assertEqual(["engine/op/a.hpp:1: engine/op/ does not stand on engine/net/: engine/net/b.hpp"], self.of({
                "engine/op/a.hpp": '#include "engine/net/b.hpp"\n',
                "engine/net/b.hpp": "",
            }))

    def test_foreign_headers(self):
        self.assertEqual(["engine/a.cpp:1: engine/ does not know mpi.h", "mpix/b.cpp:1: mpix/ does not know ucp/api/ucp.h"],
                         self.of({
                             "engine/a.cpp": "#include <mpi.h>\n",
                             "mpix/b.cpp": "#include <ucp/api/ucp.h>\n",
                         }))

    def test_calls_past_the_header_of_tests(self):
        self.assertEqual(["tests/a.cpp:2: use tests/support/communicatable.hpp"], self.of({
            "tests/a.cpp": "// MPIX_RMA_Query()\n  MPIX_RMA_Query(comm);\n  says(\"MPIX_RMA_Free: \");\n",
            "tests/support/communicatable.hpp": "MPIX_RMA_Query(comm);\n",
            "tests/c_abi/b.cpp": "MPIX_RMA_Set_num_notify(comm, 1);\n",
        }))

    def test_circle(self):
        self.assertEqual(["these need each other: armci/a, armci/b, armci/c"], self.of({
            "armci/a.hpp": "",
            "armci/a.cpp": '#include "armci/a.hpp"\n#include "armci/b.hpp"\n',
            "armci/b.hpp": '#include "armci/c.hpp"\n',
            "armci/c.hpp": '#include "armci/a.hpp"\n',
            "armci/d.cpp": '#include "armci/a.hpp"\n',
        }))


if __name__ == "__main__":
    unittest.main()
