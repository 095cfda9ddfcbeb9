#include "armci/settings.hpp"

#include <strings.h>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "armci/failure.hpp"

namespace armci {

Settings settings;

namespace {

template <typename T>
struct Choice {
  char const* word;
  T value;
};

constexpr Choice<IovMethod> iov_methods[] = {
    {"AUTO", IovMethod::automatic},      {"DIRECT", IovMethod::direct},
    {"DTYPE", IovMethod::direct},        {"BATCHED", IovMethod::batched},
    {"CONSRV", IovMethod::conservative}, {"CONSERVATIVE", IovMethod::conservative}};
constexpr Choice<DomainKind> domain_kinds[] = {{"PROCESS", DomainKind::process}, {"HOST", DomainKind::host}};
constexpr Choice<bool> strided_methods[] = {{"DIRECT", false}, {"IOV", true}};
constexpr Choice<bool> switches[] = {{"1", true},   {"0", false},  {"y", true},    {"n", false},
                                     {"yes", true}, {"no", false}, {"true", true}, {"false", false},
                                     {"t", true},   {"f", false}};

// Variables of ARMCI-MPI that have no effect here: most control how ARMCI-MPI uses MPI windows.
constexpr char const* without_effect[] = {"ARMCI_CACHE_RANK_TRANSLATION",
                                          "ARMCI_DEBUG_ALLOC",
                                          "ARMCI_EXPLICIT_NB_PROGRESS",
                                          "ARMCI_FLUSH_BARRIERS",
                                          "ARMCI_NONCOLLECTIVE_GROUPS",
                                          "ARMCI_NO_FLUSH_LOCAL",
                                          "ARMCI_PROGRESS_THREAD",
                                          "ARMCI_PROGRESS_USLEEP",
                                          "ARMCI_RMA_ATOMICITY",
                                          "ARMCI_RMA_NOCHECK",
                                          "ARMCI_SHM_LIMIT",
                                          "ARMCI_SHR_BUF_METHOD",
                                          "ARMCI_USE_ALLOC_SHM",
                                          "ARMCI_USE_WIN_ALLOCATE"};

template <typename T>
T choose(char const* name, std::span<Choice<T> const> choices, T otherwise) {
  char const* const given = std::getenv(name);
  if (given == nullptr) return otherwise;
  for (auto const& choice : choices) {
    if (::strcasecmp(given, choice.word) == 0) return choice.value;
  }
  std::string values;
  for (auto const& choice : choices) values += (values.empty() ? "" : ", ") + std::string(choice.word);
  fail("ARMCI_Init", "%s is \"%s\"; its values are %s", name, given, values.c_str());
}

int number(char const* name) {
  constexpr long largest = 1 << 30;
  char const* const given = std::getenv(name);
  if (given == nullptr) return 0;
  char* end = nullptr;
  long const value = std::strtol(given, &end, 10);
  if (end == given || *end != '\0' || value < 0 || value > largest)
    fail("ARMCI_Init", "%s is \"%s\", which is not a number from 0 to %ld", name, given, largest);
  return static_cast<int>(value);
}

}  // namespace

void read_settings(int rank) {
  settings.verbose = choose<bool>("ARMCI_VERBOSE", switches, false);
  settings.iov_method = choose<IovMethod>("ARMCI_IOV_METHOD", iov_methods, IovMethod::automatic);
  settings.batch = number("ARMCI_IOV_BATCHED_LIMIT");
  settings.iov_checks = choose<bool>("ARMCI_IOV_CHECKS", switches, false);
  settings.strided_as_iov = choose<bool>("ARMCI_STRIDED_METHOD", strided_methods, false);
  settings.domains = choose<DomainKind>("ARMCI_DOMAINS", domain_kinds, DomainKind::process);
  if (!settings.verbose || rank != 0) return;
  for (auto const& method : iov_methods) {
    if (method.value != settings.iov_method) continue;
    std::printf("ARMCI over MPIX_RMA: vectors %s (at most %d segments, 0: any), strided %s\n", method.word,
                settings.batch, settings.strided_as_iov ? "IOV" : "DIRECT");
    break;
  }
  for (char const* const name : without_effect) {
    if (std::getenv(name) != nullptr) std::printf("ARMCI over MPIX_RMA: %s has no effect here\n", name);
  }
}

}  // namespace armci
