/// Windows at a memory server.
#include <string>

#include "calls.hpp"
#include "handles.hpp"

namespace mpixrma::python {

namespace {

py::object win_allocate_nam(MPI_Aint size, int disp_unit, py::object const& info,
                            py::object const& communicator) {
  MPI_Win win = MPI_WIN_NULL;
  MPI_Info const hints = info_of(info.ptr());
  MPI_Comm const comm = *comm_of(communicator.ptr());
  int code = MPI_SUCCESS;
  {
    py::gil_scoped_release const others_run;
    code = MPIX_Win_allocate_nam(size, disp_unit, hints, comm, &win);
  }
  check(code);
  return win_object(win);
}

py::object win_connect(std::string const& port_name, py::object const& info, int root,
                       py::object const& communicator) {
  MPI_Win win = MPI_WIN_NULL;
  MPI_Info const hints = info_of(info.ptr());
  MPI_Comm const comm = *comm_of(communicator.ptr());
  int code = MPI_SUCCESS;
  {
    py::gil_scoped_release const others_run;
    code = MPIX_Win_connect(port_name.c_str(), hints, root, comm, &win);
  }
  check(code);
  return win_object(win);
}

void win_persist(py::object const& win) {
  MPI_Win const handle = win_of(win.ptr());
  int code = MPI_SUCCESS;
  {
    py::gil_scoped_release const others_run;
    code = MPIX_Win_persist(handle);
  }
  check(code);
}

py::tuple win_query(py::object const& win, int rank) {
  MPI_Aint size = 0;
  int disp_unit = 0;
  check(MPIX_Win_query(win_of(win.ptr()), rank, &size, &disp_unit));
  return py::make_tuple(size, disp_unit);
}

}  // namespace

void define_windows(py::module_& module) {
  module.def("win_allocate_nam", &win_allocate_nam);
  module.def("win_connect", &win_connect);
  module.def("win_persist", &win_persist, py::arg("win"), "Makes the data of a persistent window durable.");
  module.def("win_query", &win_query, py::arg("win"), py::arg("rank"),
             "Returns the size in bytes and the displacement unit of a rank's memory.");
}

}  // namespace mpixrma::python
