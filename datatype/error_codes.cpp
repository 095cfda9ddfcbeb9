#include "datatype/error_codes.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <vector>

namespace mpixrma {

namespace {

constexpr std::ptrdiff_t codes_per_class = 16;

struct Code {
  int error_class;
  int code;
  std::string text;
};

std::mutex lock;
std::vector<Code> codes;  // least recently used first

/// Makes the code the most recently used one.
int mark_used(std::vector<Code>::iterator code) {
  std::rotate(code, code + 1, codes.end());
  return codes.back().code;
}

/// Gives the code this text and makes it the most recently used one.
int set_text(std::vector<Code>::iterator code, std::string const& text) {
  code->text = text;
  MPI_Add_error_string(code->code, text.c_str());
  return mark_used(code);
}

}  // namespace

int code_for(int error_class, std::string const& message) {
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (finalised != 0) return error_class;
  std::string const text = message.substr(0, MPI_MAX_ERROR_STRING - 1);
  std::lock_guard const held(lock);
  auto const of_class = [&](Code const& code) { return code.error_class == error_class; };
  auto const same =
      std::find_if(codes.begin(), codes.end(), [&](Code const& c) { return of_class(c) && c.text == text; });
  if (same != codes.end()) return mark_used(same);
  if (std::count_if(codes.begin(), codes.end(), of_class) < codes_per_class) {
    int code = error_class;
    if (MPI_Add_error_code(error_class, &code) == MPI_SUCCESS) {
      codes.push_back({error_class, code, {}});
      return set_text(codes.end() - 1, text);
    }
  }
  auto const oldest = std::find_if(codes.begin(), codes.end(), of_class);
  return oldest == codes.end() ? error_class : set_text(oldest, text);
}

}  // namespace mpixrma
