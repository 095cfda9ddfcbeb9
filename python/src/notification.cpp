/// Counters that operations increment at their targets.
#include "calls.hpp"
#include "handles.hpp"

namespace mpixrma::python {

namespace {

void set_num_notify(py::object const& communicator, int num) {
  MPI_Comm const comm = *comm_of(communicator.ptr());
  int code = MPI_SUCCESS;
  {
    py::gil_scoped_release const others_run;
    code = MPIX_RMA_Set_num_notify(comm, num);
  }
  check(code);
}

int get_num_notify(py::object const& communicator) {
  int num = 0;
  check(MPIX_RMA_Get_num_notify(*comm_of(communicator.ptr()), &num));
  return num;
}

MPI_Count get_notify_value(py::object const& communicator, int index) {
  MPI_Count value = 0;
  check(MPIX_RMA_Get_notify_value(*comm_of(communicator.ptr()), index, &value));
  return value;
}

MPI_Count reset_notify_value(py::object const& communicator, int index) {
  MPI_Count value = 0;
  check(MPIX_RMA_Reset_notify_value(*comm_of(communicator.ptr()), index, &value));
  return value;
}

py::object wait_notify_value(py::object const& communicator, int index, MPI_Count threshold) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPIX_RMA_Wait_notify_value(*comm_of(communicator.ptr()), index, threshold, &request));
  return new_request(request, py::none());
}

}  // namespace

void define_notification(py::module_& module) {
  module.def("set_num_notify", &set_num_notify, py::arg("comm"), py::arg("num"),
             "Allocates the counters of each process of a communicator, all zero. Collective.");
  module.def("get_num_notify", &get_num_notify, py::arg("comm"),
             "Returns the number of this process's counters.");
  module.def("get_notify_value", &get_notify_value, py::arg("comm"), py::arg("index"),
             "Returns the value of a counter of this process.");
  module.def("reset_notify_value", &reset_notify_value, py::arg("comm"), py::arg("index"),
             "Sets a counter of this process to zero and returns its previous value.");
  module.def("wait_notify_value", &wait_notify_value, py::arg("comm"), py::arg("index"), py::arg("threshold"),
             "Returns a request that is complete when a counter of this process reaches the threshold.");
}

}  // namespace mpixrma::python
