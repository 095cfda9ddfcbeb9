#include "armci/domains.hpp"

#include <numeric>

#include "mpix/comm/collective.hpp"

namespace armci {

void Domains::open(DomainKind kind, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::vector<int> master_of(static_cast<std::size_t>(mpixrma::size_of(comm)));
  std::iota(master_of.begin(), master_of.end(), 0);
  neighbours_ = MPI_COMM_SELF;
  masters_ = comm;
  owned_ = kind == DomainKind::host;
  if (owned_) {
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &neighbours_);
    int master = rank;
    MPI_Bcast(&master, 1, MPI_INT, 0, neighbours_);
    master_of = mpixrma::exchange(comm, master, mpixrma::size_of(comm));
    MPI_Comm_split(comm, master == rank ? 0 : MPI_UNDEFINED, rank, &masters_);
  }
  describe(master_of);
}

void Domains::describe(std::vector<int> const& master_of) {
  domain_of_.resize(master_of.size());
  members_.resize(master_of.size());
  std::vector<int> sizes;
  for (std::size_t process = 0; process < master_of.size(); ++process) {
    auto const first = static_cast<std::size_t>(master_of[process]);
    if (first == process) sizes.push_back(0);
    domain_of_[process] = first == process ? static_cast<int>(sizes.size()) - 1 : domain_of_[first];
    ++sizes[static_cast<std::size_t>(domain_of_[process])];
  }
  first_.assign(1, 0);
  for (int const size : sizes) first_.push_back(first_.back() + size);
  std::vector<int> next(first_);
  for (std::size_t process = 0; process < domain_of_.size(); ++process)
    members_[static_cast<std::size_t>(next[static_cast<std::size_t>(domain_of_[process])]++)] =
        static_cast<int>(process);
}

void Domains::close() {
  if (owned_ && masters_ != MPI_COMM_NULL) MPI_Comm_free(&masters_);
  if (owned_) MPI_Comm_free(&neighbours_);
  *this = Domains{};
}

int Domains::domain_of(int process) const noexcept {
  bool const exists = process >= 0 && process < static_cast<int>(domain_of_.size());
  return exists ? domain_of_[static_cast<std::size_t>(process)] : -1;
}

int Domains::size(int domain) const noexcept {
  if (domain < 0 || domain >= count()) return 0;
  auto const index = static_cast<std::size_t>(domain);
  return first_[index + 1] - first_[index];
}

int Domains::process(int domain, int number) const noexcept {
  if (number < 0 || number >= size(domain)) return -1;
  return members_[static_cast<std::size_t>(first_[static_cast<std::size_t>(domain)] + number)];
}

}  // namespace armci
