#include "hosts/public-mpi/parameters.hpp"

#include <mpi.h>

#include <cstdlib>
#include <span>
#include <string_view>

#include "engine/runtime/parameters.h"

namespace mpixrma::host {

namespace {

/// Returns nullptr if the parameter is not set. Under Open MPI this also finds the value of `mpirun --mca
/// osc_mpix_NAME`.
char const* given(std::string_view name) {
  std::string variable = "MPIX_";
  for (char const letter : name)
    variable += letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 32) : letter;
  if (char const* const value = std::getenv(variable.c_str())) return value;
#ifdef OPEN_MPI
  return std::getenv(("OMPI_MCA_osc_mpix_" + std::string(name)).c_str());
#else
  return nullptr;
#endif
}

/// Returns the value set under the parameter's former name, and notes that the name is deprecated; nullptr if
/// there is none.
char const* given_as_before(mpix_engine_parameter const& parameter, std::string& notes) {
  char const* const former = mpix_engine_former_name(&parameter);
  char const* const text = former != nullptr ? given(former) : nullptr;
  if (text != nullptr)
    notes += "MPIX_RMA: the parameter " + std::string(former) + " has the name " + parameter.name + " now\n";
  return text;
}

}  // namespace

std::string read_parameters(mpix_engine_config& config, std::string& notes) {
  char why[256];
  std::size_t count = 0;
  mpix_engine_parameter const* const parameters = mpix_engine_parameters(&count);
  for (mpix_engine_parameter const& parameter : std::span(parameters, count)) {
    char const* const former = given_as_before(parameter, notes);
    char const* const current = given(parameter.name);
    char const* const text = current != nullptr ? current : former;
    if (text == nullptr) continue;
    if (mpix_engine_set_text(&config, &parameter, text, why, sizeof why) != 0) return why;
    if (*why != '\0') notes += "MPIX_RMA: " + std::string(why) + "\n";
  }
  return mpix_engine_check_config(&config, why, sizeof why) != 0 ? why : "";
}

}  // namespace mpixrma::host
