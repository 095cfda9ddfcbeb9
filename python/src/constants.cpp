/// Enumerations of the C interface.
#include <initializer_list>
#include <utility>

#include "calls.hpp"

#include "mpix_rma.h"

namespace mpixrma::python {

namespace {

/// Members are ints, so that operations need not convert them.
void define_enum(py::module_& module, char const* name,
                 std::initializer_list<std::pair<char const*, int>> members) {
  py::list pairs;
  for (auto const& [member, value] : members) pairs.append(py::make_tuple(member, value));
  module.attr(name) =
      py::module_::import("enum").attr("IntEnum")(name, pairs, py::arg("module") = "mpix_rma");
}

}  // namespace

void define_constants(py::module_& module) {
  define_enum(module, "Op",
              {{"PUT", MPIX_RMA_PUT}, {"GET", MPIX_RMA_GET}, {"ACCUMULATE", MPIX_RMA_ACCUMULATE}});
  define_enum(module, "Rmw",
              {{"INC", MPIX_RMW_INC},
               {"PROD", MPIX_RMW_PROD},
               {"SUM", MPIX_RMW_SUM},
               {"LAND", MPIX_RMW_LAND},
               {"LOR", MPIX_RMW_LOR},
               {"LXOR", MPIX_RMW_LXOR},
               {"BAND", MPIX_RMW_BAND},
               {"BOR", MPIX_RMW_BOR},
               {"BXOR", MPIX_RMW_BXOR},
               {"SWAP", MPIX_RMW_SWAP},
               {"NO_OP", MPIX_RMW_NO_OP},
               {"MIN", MPIX_RMW_MIN},
               {"MAX", MPIX_RMW_MAX}});
  define_enum(module, "Rmw2",
              {{"MASK_SWAP", MPIX_RMW2_MASK_SWAP},
               {"COMP_SWAP_LT", MPIX_RMW2_COMP_SWAP_LT},
               {"COMP_SWAP_LE", MPIX_RMW2_COMP_SWAP_LE},
               {"COMP_SWAP_E", MPIX_RMW2_COMP_SWAP_E},
               {"COMP_SWAP_GE", MPIX_RMW2_COMP_SWAP_GE},
               {"COMP_SWAP_GT", MPIX_RMW2_COMP_SWAP_GT},
               {"COMP_SWAP_NE", MPIX_RMW2_COMP_SWAP_NE}});
  define_enum(module, "Protocol",
              {{"ALL", MPIX_RMA_PROTOCOL_ALL},
               {"DIRECT", MPIX_RMA_PROTOCOL_DIRECT},
               {"CROSS_MEMORY", MPIX_RMA_PROTOCOL_CROSS_MEMORY},
               {"NETWORK", MPIX_RMA_PROTOCOL_NETWORK},
               {"RING", MPIX_RMA_PROTOCOL_RING},
               {"MESSAGE", MPIX_RMA_PROTOCOL_MESSAGE}});
  define_enum(module, "Statistic",
              {{"OPERATIONS", MPIX_RMA_STATISTIC_OPERATIONS},
               {"BYTES", MPIX_RMA_STATISTIC_BYTES},
               {"MESSAGES_SENT", MPIX_RMA_STATISTIC_MESSAGES_SENT},
               {"MESSAGES_EXECUTED", MPIX_RMA_STATISTIC_MESSAGES_EXECUTED},
               {"COUNTED", MPIX_RMA_STATISTIC_COUNTED}});
  define_enum(module, "ErrorClass",
              {{"ADDRESS", MPIX_RMA_ERR_ADDRESS},
               {"TRANSPORT", MPIX_RMA_ERR_TRANSPORT},
               {"NOTIFICATION", MPIX_RMA_ERR_NOTIFICATION}});
  module.attr("ALL_RANKS") = MPIX_ALL_RANKS;
}

}  // namespace mpixrma::python
