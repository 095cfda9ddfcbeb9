/// armci_msg_*: message passing over MPI on ARMCI's own communicator.
#include <climits>
#include <cstring>
#include <type_traits>
#include <vector>

#include "armci/groups.hpp"
#include "armci/state.hpp"
#include "mpix/comm/collective.hpp"

namespace armci {

namespace {

template <typename T>
T magnitude(T value) {
  // As unsigned: the least integer has no positive counterpart, and stays as it is.
  if constexpr (std::is_integral_v<T>)
    return value < 0 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(value)) : value;
  else
    return value < 0 ? -value : value;
}

/// The values of each process on which a reduction operates.
enum class Operands { as_given, magnitudes, truth };

template <typename T>
void convert(Operands operands, void* x, int n) {
  auto* const values = static_cast<T*>(x);
  if (operands == Operands::magnitudes) {
    for (int i = 0; i < n; ++i) values[i] = magnitude(values[i]);
  } else if (operands == Operands::truth) {
    for (int i = 0; i < n; ++i) values[i] = static_cast<T>(values[i] != 0);
  }
}

/// The MPI datatype of an ARMCI element type, with the functions that MPI lacks for it.
struct Type {
  MPI_Datatype datatype;
  std::size_t bytes;
  void (*convert)(Operands operands, void* x, int n);
  bool (*less)(void const* a, void const* b);  ///< compares two values at any addresses
  bool integer;
};

template <typename T>
bool less(void const* a, void const* b) {
  T values[2];
  std::memcpy(&values[0], a, sizeof(T));
  std::memcpy(&values[1], b, sizeof(T));
  return values[0] < values[1];
}

template <typename T>
Type describe(MPI_Datatype datatype) {
  return {datatype, sizeof(T), &convert<T>, &less<T>, std::is_integral_v<T>};
}

Type type_of(char const* call, int type) {
  switch (type) {
    case ARMCI_INT: return describe<int>(MPI_INT);
    case ARMCI_LONG: return describe<long>(MPI_LONG);
    case ARMCI_LONG_LONG: return describe<long long>(MPI_LONG_LONG);
    case ARMCI_FLOAT: return describe<float>(MPI_FLOAT);
    case ARMCI_DOUBLE: return describe<double>(MPI_DOUBLE);
    default: fail(call, "unknown type %d", type);
  }
}

/// GA passes blank-padded Fortran strings too, so only the prefix is compared.
bool begins(char const* op, char const* name) { return std::strncmp(op, name, std::strlen(name)) == 0; }

/// A reduction and the name that callers give it.
struct Reduction {
  char const* name;
  MPI_Op operation;
  Operands operands = Operands::as_given;
  bool integers_only = false;
};

Reduction reduction_of(char const* call, char const* op, Type const& type) {
  // Order matters: names are matched by prefix, so a name follows every longer one that begins with it.
  Reduction const known[] = {
      {.name = "+", .operation = MPI_SUM},
      {.name = "*", .operation = MPI_PROD},
      {.name = "max", .operation = MPI_MAX},
      {.name = "min", .operation = MPI_MIN},
      {.name = "absmax", .operation = MPI_MAX, .operands = Operands::magnitudes},
      {.name = "absmin", .operation = MPI_MIN, .operands = Operands::magnitudes},
      {.name = "&&", .operation = MPI_LAND, .operands = Operands::truth, .integers_only = true},
      {.name = "land", .operation = MPI_LAND, .operands = Operands::truth, .integers_only = true},
      {.name = "||", .operation = MPI_LOR, .operands = Operands::truth, .integers_only = true},
      {.name = "lor", .operation = MPI_LOR, .operands = Operands::truth, .integers_only = true},
      {.name = "&", .operation = MPI_BAND, .integers_only = true},
      {.name = "band", .operation = MPI_BAND, .integers_only = true},
      {.name = "|", .operation = MPI_BOR, .integers_only = true},
      {.name = "bor", .operation = MPI_BOR, .integers_only = true},
      {.name = "or", .operation = MPI_BOR, .integers_only = true},
  };
  for (Reduction const& one : known) {
    if (begins(op, one.name) && (type.integer || !one.integers_only)) return one;
  }
  fail(call, "unknown operation \"%.8s\" for this type", op);
}

void combine(char const* call, void* x, int n, char const* op, int type, MPI_Comm comm) {
  if (n == 0) return;
  if (n < 0) fail(call, "n is %d", n);
  if (x == nullptr || op == nullptr) fail(call, "%s is null", x == nullptr ? "x" : "op");
  Type const described = type_of(call, type);
  Reduction const reduction = reduction_of(call, op, described);
  // MPI applies no operation to the values of a single process.
  described.convert(reduction.operands, x, n);
  check_mpi(call, MPI_Allreduce(MPI_IN_PLACE, x, n, described.datatype, reduction.operation, comm));
}

void check_buffer(char const* call, void const* buffer, int bytes) {
  if (bytes < 0) fail(call, "length %d is negative", bytes);
  if (buffer == nullptr && bytes > 0) fail(call, "the buffer is null");
}

/// Rejects MPI_ANY_TAG, too, which is negative.
void check_tag(char const* call, int tag) {
  if (tag < 0) fail(call, "tag %d is negative", tag);
}

int receive(char const* call, int tag, void* buffer, int bytes, int* received, int from) {
  check_tag(call, tag);
  check_buffer(call, buffer, bytes);
  MPI_Status status;
  check_mpi(call, MPI_Recv(buffer, bytes, MPI_BYTE, from, tag, running_world(call).comm, &status));
  if (received != nullptr) MPI_Get_count(&status, MPI_BYTE, received);
  return status.MPI_SOURCE;
}

/// Returns the communicator of a scope; MPI_COMM_NULL if the caller is not a master (SCOPE_MASTERS).
MPI_Comm comm_of_scope(char const* call, int scope) {
  World const& all = running_world(call);
  if (scope < SCOPE_ALL || scope > SCOPE_MASTERS) fail(call, "unknown scope %d", scope);
  if (scope == SCOPE_MASTERS) return all.domains.masters();
  return scope == SCOPE_ALL ? all.comm : all.domains.neighbours();
}

/// The communicator of a scope within a group. A group has only SCOPE_ALL when domains hold several
/// processes.
MPI_Comm comm_of_scope(char const* call, int scope, ARMCI_Group const* group) {
  MPI_Comm const of_all = comm_of_scope(call, scope);
  bool const divided = world.domains.count() < world.size;
  if (scope != SCOPE_ALL && divided) fail(call, "a group has the scope SCOPE_ALL only");
  MPI_Comm const of_group = comm_of(call, group);
  return scope == SCOPE_NODE ? of_all : of_group;
}

/// Returns the rank of a process in the communicator of a scope.
int rank_in_scope(char const* call, int scope, int process) {
  check_process(call, process);
  if (scope == SCOPE_ALL) return process;
  Domains const& domains = world.domains;
  // ARMCI-MPI ignores the root of a broadcast in a domain of one process.
  bool const is_alone = domains.size(domains.domain_of(world.rank)) == 1;
  if (scope == SCOPE_NODE && is_alone) return 0;
  int const domain = domains.domain_of(process);
  if (scope == SCOPE_MASTERS) {
    if (domains.process(domain, 0) != process)
      fail(call, "process %d is not the first of its domain", process);
    return domain;
  }
  for (int number = 0; domain == domains.domain_of(world.rank) && number < domains.size(domain); ++number)
    if (domains.process(domain, number) == process) return number;
  fail(call, "process %d is not in the caller's domain", process);
}

void broadcast(char const* call, int scope, void* buffer, int bytes, int root) {
  MPI_Comm const comm = comm_of_scope(call, scope);
  if (comm == MPI_COMM_NULL) return;
  int const rank = rank_in_scope(call, scope, root);
  check_buffer(call, buffer, bytes);
  check_mpi(call, MPI_Bcast(buffer, bytes, MPI_BYTE, rank, comm));
}

void select_extremum(char const* call, int scope, void* x, int n, char const* op, int type, int contribute) {
  MPI_Comm const comm = comm_of_scope(call, scope);
  if (comm == MPI_COMM_NULL) return;
  if (x == nullptr || op == nullptr) fail(call, "%s is null", x == nullptr ? "x" : "op");
  Type const described = type_of(call, type);
  if (n < static_cast<int>(described.bytes))
    fail(call, "n = %d bytes is less than one element of %zu", n, described.bytes);
  if (n == INT_MAX) fail(call, "n = %d bytes are too many", n);
  bool const smallest = begins(op, "min");
  if (!smallest && !begins(op, "max")) fail(call, "unknown operation \"%.8s\"", op);
  // One record per process: a flag whether it takes part, then its bytes.
  std::size_t const record = static_cast<std::size_t>(n) + 1;
  std::vector<char> mine(record);
  int const processes = mpixrma::size_of(comm);
  std::vector<char> all(record * static_cast<std::size_t>(processes));
  mine[0] = contribute != 0 ? 1 : 0;
  std::memcpy(mine.data() + 1, x, static_cast<std::size_t>(n));
  check_mpi(call, MPI_Allgather(mine.data(), n + 1, MPI_BYTE, all.data(), n + 1, MPI_BYTE, comm));
  char const* best = nullptr;
  for (int i = 0; i < processes; ++i) {
    char const* const each = all.data() + record * static_cast<std::size_t>(i);
    if (each[0] == 0) continue;
    bool const better = best == nullptr ||
                        (smallest ? described.less(each + 1, best + 1) : described.less(best + 1, each + 1));
    if (better) best = each;
  }
  if (best != nullptr) std::memcpy(x, best + 1, static_cast<std::size_t>(n));
}

void reduce(char const* call, int scope, void* x, int n, char const* op, int type) {
  MPI_Comm const comm = comm_of_scope(call, scope);
  if (comm != MPI_COMM_NULL) combine(call, x, n, op, type, comm);
}
void reduce(char const* call, int scope, void* x, int n, char const* op, int type, ARMCI_Group const* group) {
  combine(call, x, n, op, type, comm_of_scope(call, scope, group));
}

/// The results of armci_msg_bintree.
struct Tree {
  int* root;
  int* up;
  int* left;
  int* right;
};

void describe_tree(int scope, Tree const& tree) {
  char const* const call = "armci_msg_bintree";
  *tree.up = *tree.left = *tree.right = -1;
  *tree.root = world.rank;
  MPI_Comm const comm = comm_of_scope(call, scope);
  if (comm == MPI_COMM_NULL) return;
  Domains const& domains = world.domains;
  auto const process = [&](int rank) {
    if (scope == SCOPE_ALL) return rank;
    return scope == SCOPE_MASTERS ? domains.process(rank, 0)
                                  : domains.process(domains.domain_of(world.rank), rank);
  };
  int const size = mpixrma::size_of(comm);
  int const me = rank_in_scope(call, scope, world.rank);
  *tree.root = process(0);
  if (me != 0) *tree.up = process((me - 1) / 2);
  if (2 * me + 1 < size) *tree.left = process(2 * me + 1);
  if (2 * me + 2 < size) *tree.right = process(2 * me + 2);
}

}  // namespace
}  // namespace armci

using namespace armci;

int armci_msg_me(void) {
  if (world.rank >= 0) return world.rank;
  int rank = 0;  // GA calls this function before ARMCI_Init
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int armci_msg_nproc(void) {
  if (world.size > 0) return world.size;
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}
void armci_msg_abort(int code) { end_program(code); }
double armci_timer(void) { return MPI_Wtime(); }

void armci_msg_snd(int tag, void* buffer, int len, int to) {
  abort_on_failure([&] {
    char const* const call = "armci_msg_snd";
    check_process(call, to);
    check_tag(call, tag);
    check_buffer(call, buffer, len);
    check_mpi(call, MPI_Send(buffer, len, MPI_BYTE, to, tag, world.comm));
  });
}
int armci_msg_rcvany(int tag, void* buffer, int buflen, int* msglen) {
  return abort_on_failure(
      [&] { return receive("armci_msg_rcvany", tag, buffer, buflen, msglen, MPI_ANY_SOURCE); });
}
void armci_msg_rcv(int tag, void* buffer, int buflen, int* msglen, int from) {
  abort_on_failure([&] {
    check_process("armci_msg_rcv", from);
    receive("armci_msg_rcv", tag, buffer, buflen, msglen, from);
  });
}

void parmci_msg_barrier(void) {
  abort_on_failure([&] {
    (void)running_world("armci_msg_barrier").comm;
    world.barrier.wait();
  });
}
void parmci_msg_group_barrier(ARMCI_Group* group) {
  abort_on_failure([&] { wait_for_group("armci_msg_group_barrier", group); });
}
extern "C" decltype(armci_msg_barrier) armci_msg_barrier __attribute__((weak, alias("parmci_msg_barrier")));
extern "C" decltype(armci_msg_group_barrier) armci_msg_group_barrier
    __attribute__((weak, alias("parmci_msg_group_barrier")));

void armci_msg_bintree(int scope, int* Root, int* Up, int* Left, int* Right) {
  abort_on_failure([&] {
    if (Root == nullptr || Up == nullptr || Left == nullptr || Right == nullptr)
      fail("armci_msg_bintree", "the address of a result is null");
    describe_tree(scope, {Root, Up, Left, Right});
  });
}

void armci_msg_bcast_scope(int scope, void* buffer, int len, int root) {
  abort_on_failure([&] { broadcast("armci_msg_bcast_scope", scope, buffer, len, root); });
}
void armci_msg_bcast(void* buffer, int len, int root) {
  abort_on_failure([&] { broadcast("armci_msg_bcast", SCOPE_ALL, buffer, len, root); });
}
void armci_msg_brdcst(void* buffer, int len, int root) {
  abort_on_failure([&] { broadcast("armci_msg_brdcst", SCOPE_ALL, buffer, len, root); });
}
void armci_msg_group_bcast_scope(int scope, void* buf, int len, int root, ARMCI_Group* group) {
  abort_on_failure([&] {
    char const* const call = "armci_msg_group_bcast_scope";
    MPI_Comm const comm = comm_of_scope(call, scope, group);
    if (root < 0 || root >= world.size || group->abs_to_grp[root] < 0)
      fail(call, "process %d is not in the group", root);
    int const rank = scope == SCOPE_NODE ? rank_in_scope(call, scope, root) : group->abs_to_grp[root];
    check_buffer(call, buf, len);
    check_mpi(call, MPI_Bcast(buf, len, MPI_BYTE, rank, comm));
  });
}

void armci_msg_sel_scope(int scope, void* x, int n, char* op, int type, int contribute) {
  abort_on_failure([&] { select_extremum("armci_msg_sel_scope", scope, x, n, op, type, contribute); });
}
void armci_msg_sel(void* x, int n, char* op, int type, int contribute) {
  abort_on_failure([&] { select_extremum("armci_msg_sel", SCOPE_ALL, x, n, op, type, contribute); });
}

void armci_msg_gop_scope(int scope, void* x, int n, char* op, int type) {
  abort_on_failure([&] { reduce("armci_msg_gop_scope", scope, x, n, op, type); });
}
void armci_msg_reduce_scope(int scope, void* x, int n, char* op, int type) {
  abort_on_failure([&] { reduce("armci_msg_reduce_scope", scope, x, n, op, type); });
}
void armci_msg_reduce(void* x, int n, char* op, int type) {
  abort_on_failure([&] { reduce("armci_msg_reduce", SCOPE_ALL, x, n, op, type); });
}
void armci_msg_group_gop_scope(int scope, void* x, int n, char* op, int type, ARMCI_Group* group) {
  abort_on_failure([&] { reduce("armci_msg_group_gop_scope", scope, x, n, op, type, group); });
}

#define ARMCI_GOP_FUNCTIONS(letter, ctype, tag)                                                           \
  void armci_msg_##letter##gop(ctype* x, int n, char* op) {                                               \
    abort_on_failure([&] { reduce("armci_msg_" #letter "gop", SCOPE_ALL, x, n, op, tag); });              \
  }                                                                                                       \
  void armci_msg_group_##letter##gop(ctype* x, int n, char* op, ARMCI_Group* group) {                     \
    abort_on_failure([&] { reduce("armci_msg_group_" #letter "gop", SCOPE_ALL, x, n, op, tag, group); }); \
  }
ARMCI_GOP_FUNCTIONS(i, int, ARMCI_INT)
ARMCI_GOP_FUNCTIONS(l, long, ARMCI_LONG)
ARMCI_GOP_FUNCTIONS(ll, long long, ARMCI_LONG_LONG)
ARMCI_GOP_FUNCTIONS(f, float, ARMCI_FLOAT)
ARMCI_GOP_FUNCTIONS(d, double, ARMCI_DOUBLE)
