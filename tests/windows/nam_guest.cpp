/// A job of a user who does not own the grant of the window that it uses, or of the owner.
///
/// nam_guest make MODE:         makes a persistent window with this mode, fills it, and prints its port name
/// nam_guest PORT reader:       reads all of the window; all calls that would change it are refused
/// nam_guest PORT writer:       changes all of the window, and restores its content
/// nam_guest PORT count ROUNDS: each process counts ROUNDS times
/// nam_guest PORT expect N:     whether all counts are N
/// nam_guest PORT refused:      expects that access to the window is denied
/// nam_guest PORT locks N:      locks N windows, and is refused one more
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

namespace {

constexpr int elements = 1 << 17;  ///< of each rank; more than fits into one request
constexpr int columns = 40000;     ///< more runs than fit into one request
constexpr int counters = 3;        ///< behind the elements

int failures = 0;

void expect(bool good, char const* what) {
  if (good) return;
  std::fprintf(stderr, "not as expected: %s\n", what);
  ++failures;
}

int class_of(int code) {
  int error_class = code;
  MPI_Error_class(code, &error_class);
  return error_class;
}

std::string string_of(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

/// Expects a code of this class whose string contains `part`.
void expect_error(int code, int error_class, char const* part, char const* what) {
  std::string const text = string_of(code);
  bool const good = class_of(code) == error_class && text.find(part) != std::string::npos;
  expect(good, what);
  if (!good) std::fprintf(stderr, "%s: %s\n", what, text.c_str());
}

/// Expects the code MPI_ERR_ACCESS, and a string that names the mode.
void expect_denied(int code, char const* what) {
  expect_error(code, MPI_ERR_ACCESS, "mode of the window", what);
}

std::vector<long> values_of(int rank, long offset = 0) {
  std::vector<long> values(elements);
  std::iota(values.begin(), values.end(), offset + 1000000L * rank);
  return values;
}

/// The kind of epoch: only passive ones permit flushes, and operations with requests.
enum class Target { active, passive };

void finish(MPI_Win window, int rank, Target target) {
  target == Target::passive ? MPI_Win_flush(rank, window) : MPI_Win_fence(0, window);
}

std::vector<long> read_all(MPI_Win window, int rank, Target target = Target::passive) {
  std::vector<long> values(elements, -1);
  expect(MPI_Get(values.data(), elements, MPI_LONG, rank, 0, elements, MPI_LONG, window) == MPI_SUCCESS,
         "get");
  finish(window, rank, target);
  return values;
}

int make(char const* mode) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "deep_mem_kind", "deep_nam_persistent");
  MPI_Info_set(info, "mpix_nam_mode", mode);
  MPI_Win window = MPI_WIN_NULL;
  void* base = nullptr;
  MPI_Win_allocate((elements + counters) * sizeof(long), sizeof(long), info, MPI_COMM_WORLD, &base, &window);
  MPI_Info_free(&info);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<long> const values = values_of(rank);
  MPI_Win_fence(0, window);
  MPI_Put(values.data(), elements, MPI_LONG, rank, 0, elements, MPI_LONG, window);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  char port[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  MPI_Win_get_info(window, &info);
  MPI_Info_get(info, "deep_win_port_name", MPI_MAX_INFO_VAL, port, &found);
  MPI_Info_free(&info);
  if (rank == 0) std::printf("%s\n", port);
  MPI_Win_free(&window);
  return found != 0 ? 0 : 1;
}

/// Returns a derived type of every other element, from the beginning of the region on.
MPI_Datatype every_other() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(columns, 1, 2, MPI_LONG, &type);
  MPI_Type_commit(&type);
  return type;
}

void read(MPI_Win window, int rank, Target target) {
  expect(read_all(window, rank, target) == values_of(rank), "content");
  MPI_Datatype type = every_other();
  std::vector<long> columns_read(columns, -1);
  MPI_Request request = MPI_REQUEST_NULL;
  int const code = target == Target::passive
                       ? MPI_Rget(columns_read.data(), columns, MPI_LONG, rank, 0, 1, type, window, &request)
                       : MPI_Get(columns_read.data(), columns, MPI_LONG, rank, 0, 1, type, window);
  expect(code == MPI_SUCCESS, "get of a derived type");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (target == Target::active) finish(window, rank, target);
  bool same = true;
  for (int i = 0; i < columns; ++i) same = same && columns_read[i] == 1000000L * rank + 2 * i;
  expect(same, "content of a derived type");
  MPI_Type_free(&type);
  long before = -1;
  expect(MPI_Fetch_and_op(nullptr, &before, MPI_LONG, rank, 7, MPI_NO_OP, window) == MPI_SUCCESS, "fetch");
  finish(window, rank, target);
  expect(before == 1000000L * rank + 7, "fetched value");
}

void expect_refusals(MPI_Win window, int rank, Target target) {
  long const one = 1;
  long before = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  expect_denied(MPI_Put(&one, 1, MPI_LONG, rank, 0, 1, MPI_LONG, window), "put");
  if (target == Target::passive)
    expect_denied(MPI_Rput(&one, 1, MPI_LONG, rank, 0, 1, MPI_LONG, window, &request), "put with a request");
  expect_denied(MPI_Accumulate(&one, 1, MPI_LONG, rank, 0, 1, MPI_LONG, MPI_SUM, window), "accumulate");
  expect_denied(MPI_Fetch_and_op(&one, &before, MPI_LONG, rank, 0, MPI_SUM, window), "fetch-and-add");
  expect_denied(MPI_Compare_and_swap(&one, &before, &before, MPI_LONG, rank, 0, window), "compare-and-swap");
}

void be_reader(MPI_Win window, int rank) {
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
  read(window, rank, Target::passive);
  expect_refusals(window, rank, Target::passive);
  MPI_Win_unlock(rank, window);
  int const code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
  expect_denied(code, "exclusive lock");
  if (code == MPI_SUCCESS) MPI_Win_unlock(rank, window);
  MPI_Win_lock_all(0, window);
  read(window, rank, Target::passive);
  MPI_Win_unlock_all(window);
  MPI_Win_fence(0, window);
  read(window, rank, Target::active);
  expect_refusals(window, rank, Target::active);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
}

void be_writer(MPI_Win window, int rank) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
  std::vector<long> const raised = values_of(rank, 5);
  expect(MPI_Put(raised.data(), elements, MPI_LONG, rank, 0, elements, MPI_LONG, window) == MPI_SUCCESS,
         "put");
  expect(read_all(window, rank) == raised, "content after a put");
  std::vector<long> const minus(elements, -5);
  std::vector<long> before(elements, -1);
  expect(MPI_Get_accumulate(minus.data(), elements, MPI_LONG, before.data(), elements, MPI_LONG, rank, 0,
                            elements, MPI_LONG, MPI_SUM, window) == MPI_SUCCESS,
         "get-accumulate");
  MPI_Win_flush(rank, window);
  expect(before == raised, "fetched by a get-accumulate");
  expect(read_all(window, rank) == values_of(rank), "content after a get-accumulate");
  MPI_Datatype type = every_other();
  std::vector<long> const sevens(columns, 7);
  expect(MPI_Put(sevens.data(), columns, MPI_LONG, rank, 0, 1, type, window) == MPI_SUCCESS, "put of a type");
  std::vector<long> expected = values_of(rank);
  for (int i = 0; i < columns; ++i) expected[static_cast<std::size_t>(2 * i)] = 7;
  expect(read_all(window, rank) == expected, "content after a put of a derived type");
  MPI_Type_free(&type);
  std::vector<long> const whole = values_of(rank);
  MPI_Put(whole.data(), elements, MPI_LONG, rank, 0, elements, MPI_LONG, window);
  struct {
    short value;
    int index;
  } const pair{-1, 3};
  struct {
    short value;
    int index;
  } found{0, 0};
  MPI_Accumulate(&pair, 1, MPI_SHORT_INT, rank, elements, 1, MPI_SHORT_INT, MPI_REPLACE, window);
  MPI_Get(&found, 1, MPI_SHORT_INT, rank, elements, 1, MPI_SHORT_INT, window);
  MPI_Win_flush(rank, window);
  long const zero = 0;
  MPI_Put(&zero, 1, MPI_LONG, rank, elements, 1, MPI_LONG, window);
  MPI_Win_unlock(rank, window);
  expect(found.value == -1 && found.index == 3, "a pair with a gap");
}

void count(MPI_Win window, int rank, long rounds) {
  long const one = 1;
  double const half = 0.5;
  long before = 0;
  for (long i = 0; i < rounds; ++i) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
    long next = 0;
    MPI_Get(&next, 1, MPI_LONG, rank, elements, 1, MPI_LONG, window);
    MPI_Win_flush(rank, window);
    ++next;
    MPI_Put(&next, 1, MPI_LONG, rank, elements, 1, MPI_LONG, window);
    MPI_Win_unlock(rank, window);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    for (int j = 0; j < 10; ++j) {
      MPI_Fetch_and_op(&one, &before, MPI_LONG, rank, elements + 1, MPI_SUM, window);
      MPI_Accumulate(&half, 1, MPI_DOUBLE, rank, elements + 2, 1, MPI_DOUBLE, MPI_SUM, window);
    }
    MPI_Win_unlock(rank, window);
  }
}

void expect_counts(MPI_Win window, int rank, long expected) {
  struct {
    long locked, fetched;
    double added;
  } found{};
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
  MPI_Get(&found, sizeof found, MPI_BYTE, rank, elements, sizeof found, MPI_BYTE, window);
  MPI_Win_unlock(rank, window);
  std::printf("%ld under locks, %ld fetched, %g added\n", found.locked, found.fetched, found.added);
  expect(found.locked == expected && found.fetched == 10 * expected &&
             found.added == 5.0 * static_cast<double>(expected),
         "counts");
}

int attach(char const* port, MPI_Comm* connection, MPI_Win* window) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "deep_win_connect", "true");
  int code = MPI_Comm_connect(port, info, 0, MPI_COMM_WORLD, connection);
  MPI_Info_free(&info);
  if (code != MPI_SUCCESS) return code;
  code = MPI_Win_create_dynamic(MPI_INFO_NULL, *connection, window);
  if (code == MPI_SUCCESS) MPI_Win_set_errhandler(*window, MPI_ERRORS_RETURN);
  return code;
}

/// Locks windows until the session has locked as many as the grant may have.
void lock_windows(char const* port, long most) {
  std::vector<MPI_Win> windows;
  int code = MPI_SUCCESS;
  while (code == MPI_SUCCESS && static_cast<long>(windows.size()) <= most) {
    MPI_Comm connection = MPI_COMM_NULL;
    code = attach(port, &connection, &windows.emplace_back(MPI_WIN_NULL));
    if (code != MPI_SUCCESS) return expect(false, string_of(code).c_str());
    MPI_Comm_disconnect(&connection);
    code = MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, windows.back());
  }
  expect(static_cast<long>(windows.size()) == most + 1, "number of locked windows");
  expect_error(code, MPI_ERR_WIN, "locks as many windows as the grant may have", "lock beyond the quota");
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (i + 1 < windows.size()) expect(MPI_Win_unlock(0, windows[i]) == MPI_SUCCESS, "unlock");
    MPI_Win_free(&windows[i]);
  }
}

void use(char const* port, std::string const& action, long number) {
  if (action == "locks") return lock_windows(port, number);
  MPI_Comm connection = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  int const code = attach(port, &connection, &window);
  if (action == "refused") return expect(class_of(code) == MPI_ERR_PORT, "refusal of the connection");
  if (code != MPI_SUCCESS) return expect(false, string_of(code).c_str());
  int ranks = 0;
  int rank = 0;
  MPI_Comm_remote_size(connection, &ranks);
  MPI_Comm_disconnect(&connection);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (action == "count") {
    count(window, 0, number);
  } else if (action == "expect") {
    expect_counts(window, 0, number);
  } else {
    action == "reader" ? be_reader(window, rank % ranks) : be_writer(window, rank % ranks);
  }
  expect(MPI_Win_free(&window) == MPI_SUCCESS, "free");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 3) return 2;
  if (std::string(argv[1]) == "make") {
    failures += make(argv[2]);
  } else {
    use(argv[1], argv[2], argc > 3 ? std::atol(argv[3]) : 0);
  }
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
