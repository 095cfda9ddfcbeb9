/// Plans: the arguments of a series of transfers, checked once.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "calls.hpp"
#include "datatype.hpp"
#include "issue.hpp"
#include "target.hpp"

namespace mpixrma::python {

namespace {

/// A datatype of MPI or a dtype of NumPy, committed.
MPI_Datatype datatype_or_dtype(PyObject* object) {
  if (is_datatype(object)) return datatype_of(object);
  Element const element = element_of_dtype(object);
  if (element.per_item != 1) throw py::type_error("the dtype has no MPI datatype of its own: use MPI.BYTE");
  return element.datatype;
}

MPI_Count size_of(MPI_Datatype datatype) {
  MPI_Count size = 0;
  check(MPI_Type_size_x(datatype, &size));
  if (size <= 0) throw py::value_error("the datatype has no data");
  return size;
}

/// Bytes may have any type.
bool is_bytes(MPI_Datatype datatype) noexcept { return datatype == MPI_BYTE || datatype == MPI_PACKED; }

/// The type of a plan's elements, or MPI_DATATYPE_NULL if they are bytes or have a derived datatype.
MPI_Datatype element_of_plan(MPI_Datatype datatype) {
  MPI_Datatype const element = element_of_given(datatype);
  return is_bytes(element) ? MPI_DATATYPE_NULL : element;
}

MPI_Count extent_of(MPI_Datatype datatype) {
  MPI_Count lower = 0, extent = 0;
  check(MPI_Type_get_extent_x(datatype, &lower, &extent));
  if (extent <= 0) throw py::value_error("the extent of the origin's datatype is not positive");
  return extent;
}

class Plan {
 public:
  Plan(int op, py::object const& origin_datatype, int target_rank, py::object const& target_datatype,
       py::object communicator, Keywords const& keywords)
      : communicator_(std::move(communicator)), rank_(target_rank), is_get_(op == MPIX_RMA_GET) {
    require_mpi();
    waiting_ = keywords.attributes.set & waiting;
    MPI_Datatype const origin = datatype_or_dtype(origin_datatype.ptr());
    MPI_Datatype const target = datatype_or_dtype(target_datatype.ptr());
    origin_size_ = size_of(origin);
    target_size_ = size_of(target);
    origin_extent_ = extent_of(origin);
    MPI_Count true_lower = 0, true_extent = 0;
    check(MPI_Type_get_true_extent_x(origin, &true_lower, &true_extent));
    lead_ = std::max(-true_lower, MPI_Count{0});
    excess_ = std::max(true_lower + true_extent - origin_extent_, MPI_Count{0});
    origin_element_ = element_of_plan(origin);
    MPI_Datatype const target_element = element_of_plan(target);
    if (origin_element_ != target_element && origin_element_ != MPI_DATATYPE_NULL &&
        target_element != MPI_DATATYPE_NULL)
      throw py::type_error("origin and target have elements of different types");
    check(MPIX_RMA_Plan_create(static_cast<MPIX_RMA_Op>(op), origin, rank_, target, *comm(),
                               keywords.argument(), &plan_));
  }
  Plan(Plan const&) = delete;
  Plan& operator=(Plan const&) = delete;
  ~Plan() {
    if (plan_ != MPIX_RMA_PLAN_NULL && mpi_is_usable()) MPIX_RMA_Plan_free(&plan_);
  }

  py::object issue(py::object const& origin, py::object const& address, Returns returns) {
    require_mpi();
    Buffer const buffer = buffer_of(origin.ptr(), is_get_ ? Access::write : Access::read);
    if (!buffer.contiguous) throw py::type_error("the origin of a plan is an array without gaps");
    int item = 0;
    check(MPI_Type_size(buffer.datatype, &item));
    if (buffer.datatype != origin_element_ && origin_element_ != MPI_DATATYPE_NULL &&
        !is_bytes(buffer.datatype) && element_of_datatype(buffer.datatype) != origin_element_)
      throw py::type_error("the origin has elements of another type than the plan");
    MPI_Count const bytes = buffer.count * item;
    if (bytes % origin_extent_ != 0)
      throw py::value_error("the origin does not consist of whole elements of the plan's datatype");
    MPI_Count const origin_count = bytes / origin_extent_;
    if (origin_count > 0 && excess_ > 0 && buffer.address != MPI_BOTTOM)
      throw py::value_error("the last element of the plan's datatype would reach beyond the origin");
    if (origin_count > 0 && lead_ > 0 && buffer.address != MPI_BOTTOM)
      throw py::value_error("the first element of the plan's datatype would begin before the origin");
    MPI_Count const target_count = origin_count * origin_size_ / target_size_;
    void* const target = address_of(address.ptr());
    Keywords keywords;
    keywords.attributes.set = waiting_;
    Use const use(uses_);
    return owned(python::issue(
        keywords, comm(), rank_, returns, bytes,
        [&](MPI_Request* request) {
          return MPIX_RMA_Plan_issue_c(plan_, buffer.address, origin_count, target, target_count, request);
        },
        [&] { return py::reinterpret_borrow<py::object>(buffer.owner); }));
  }

  void free() {
    if (uses_ != 0) throw py::value_error("another thread issues an operation of the plan");
    check(MPIX_RMA_Plan_free(&plan_));
  }

 private:
  /// A call that may release the interpreter's lock while it uses the plan.
  class Use {
   public:
    explicit Use(unsigned& uses) noexcept : uses_(uses) { ++uses_; }
    ~Use() { --uses_; }
    Use(Use const&) = delete;
    Use& operator=(Use const&) = delete;

   private:
    unsigned& uses_;
  };

  MPI_Comm* comm() { return comm_of(communicator_.ptr()); }

  py::object communicator_;  // must outlive the plan
  int rank_;
  bool is_get_;
  unsigned uses_ = 0;          ///< calls of issue() in progress
  std::uint64_t waiting_ = 0;  ///< attributes of the plan with which an operation may wait
  MPI_Datatype origin_element_ = MPI_DATATYPE_NULL;  ///< of element_of_plan()
  MPI_Count origin_size_ = 0, origin_extent_ = 0, target_size_ = 0;
  MPI_Count lead_ = 0;    ///< bytes of an element at the origin before its address
  MPI_Count excess_ = 0;  ///< bytes by which an element at the origin reaches beyond its extent
  MPIX_RMA_Plan plan_ = MPIX_RMA_PLAN_NULL;
};

Keywords keywords_of(py::kwargs const& given) {
  py::tuple names(given.size());
  std::vector<PyObject*> values;
  for (auto const& [name, value] : given) {
    names[values.size()] = name;
    values.push_back(value.ptr());
  }
  return parse_keywords({values.data(), 0, names.ptr()}, accepts_operation, "Plan");
}

}  // namespace

void define_plans(py::module_& module) {
  py::class_<Plan>(module, "Plan", "The arguments of a series of transfers, checked once.")
      .def(py::init([](int operation, py::object const& origin_datatype, int target_rank,
                       py::object const& target_datatype, py::object communicator,
                       py::kwargs const& attributes) {
             Keywords keywords = keywords_of(attributes);
             Buffer scale;
             if (keywords.scale != nullptr) {
               scale = converted_scalar(keywords.scale, origin_datatype);
               keywords.attributes.accumulate_scale = scale.address;
               keywords.attributes.set |= MPIX_RMA_ATTR_ACCUMULATE_SCALE;
             }
             return std::make_unique<Plan>(operation, origin_datatype, target_rank, target_datatype,
                                           std::move(communicator), keywords);
           }),
           py::arg("operation"), py::arg("origin_datatype"), py::arg("target_rank"),
           py::arg("target_datatype"), py::arg("comm"),
           py::pos_only())  // `op` is also the name of an attribute
      .def(
          "issue",
          [](Plan& plan, py::object const& origin, py::object const& address) {
            return plan.issue(origin, address, Returns::nothing);
          },
          py::arg("origin"), py::arg("address"), "Issues a transfer.")
      .def(
          "rissue",
          [](Plan& plan, py::object const& origin, py::object const& address) {
            return plan.issue(origin, address, Returns::request);
          },
          py::arg("origin"), py::arg("address"), "Issues a transfer, and returns its request.")
      .def("free", &Plan::free, "Frees the plan. Transfers already issued continue.");
}

}  // namespace mpixrma::python
