/// MPIX_RMA_Statistics: exact counts of the protocols that the parameters allow.
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/mpix_fixture.hpp"

namespace mpixrma::test {
namespace {

/// Returns an MCA parameter of the component, as mpirun passes it to the processes.
std::string parameter(char const* name, char const* otherwise) {
  char const* const value = std::getenv((std::string("OMPI_MCA_osc_mpix_") + name).c_str());
  return value != nullptr ? value : otherwise;
}

bool direct_is_counted() { return parameter("statistics", "0") == "1"; }

/// Returns for each rank whether it runs on this process's host.
std::vector<int> neighbours() {
  int size = 0;
  MPI_Comm_size(world, &size);
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int leader = 0;
  MPI_Comm_rank(world, &leader);
  int const self = leader;
  MPI_Bcast(&leader, 1, MPI_INT, 0, host);
  std::vector<int> leaders(static_cast<std::size_t>(size));
  MPI_Allgather(&leader, 1, MPI_INT, leaders.data(), 1, MPI_INT, world);
  MPI_Comm_free(&host);
  int const ours = leaders[static_cast<std::size_t>(self)];
  for (int& other : leaders) other = other == ours ? 1 : 0;
  return leaders;
}

/// Returns the protocol of transfers to allocated memory.
int path_to(bool neighbour) {
  std::string const paths = parameter("path", "auto");
  if (neighbour && (paths == "auto" || paths == "direct")) return MPIX_RMA_PROTOCOL_DIRECT;
  if (neighbour && paths == "cross_memory") return MPIX_RMA_PROTOCOL_CROSS_MEMORY;
  bool const network = parameter("network", "auto") == "emulated" && (paths == "auto" || paths == "network");
  return network ? MPIX_RMA_PROTOCOL_NETWORK : MPIX_RMA_PROTOCOL_MESSAGE;
}

constexpr int protocols = 5;

MPI_Count statistic(int rank, MPIX_RMA_Statistic which, int protocol = MPIX_RMA_PROTOCOL_ALL,
                    MPI_Comm comm = world) {
  MPI_Count value = -1;
  EXPECT_EQ(MPIX_RMA_Statistics(comm, rank, which, static_cast<MPIX_RMA_Protocol>(protocol), &value),
            MPI_SUCCESS);
  return value;
}

/// The counters of one rank or of all; those of a protocol at its number.
struct Counts {
  MPI_Count operations[protocols + 1] = {};
  MPI_Count bytes[protocols + 1] = {};

  void add(int protocol, MPI_Count number, MPI_Count each) {
    if (protocol == MPIX_RMA_PROTOCOL_DIRECT && !direct_is_counted()) return;
    operations[protocol] += number;
    bytes[protocol] += number * each;
  }
};

Counts counts_of(int rank, MPI_Comm comm = world) {
  Counts counts;
  for (int protocol = 1; protocol <= protocols; ++protocol) {
    counts.operations[protocol] = statistic(rank, MPIX_RMA_STATISTIC_OPERATIONS, protocol, comm);
    counts.bytes[protocol] = statistic(rank, MPIX_RMA_STATISTIC_BYTES, protocol, comm);
  }
  return counts;
}

/// Repeats a get until transfers to memory of `rank` use UCX put and get: that rank makes the key only when
/// it is first asked for the key.
void await_key(int rank, char* target) {
  char byte = 0;
  auto const by_key = [=] {
    return statistic(rank, MPIX_RMA_STATISTIC_OPERATIONS, MPIX_RMA_PROTOCOL_NETWORK);
  };
  for (MPI_Count const before = by_key(); by_key() == before;)
    ASSERT_EQ(transfer(MPIX_RMA_GET, &byte, 1, MPI_CHAR, rank, target, MPIX_RMA_ATTR_BLOCKING), MPI_SUCCESS);
}

void expect_growth(Counts const& before, Counts const& after, Counts const& growth, int rank) {
  for (int path = 1; path <= protocols; ++path) {
    EXPECT_EQ(after.operations[path] - before.operations[path], growth.operations[path])
        << "rank " << rank << " path " << path;
    EXPECT_EQ(after.bytes[path] - before.bytes[path], growth.bytes[path])
        << "rank " << rank << " path " << path;
  }
}

/// The protocols that can execute an operation. UCX put and get serve neither updates nor many small pieces,
/// and the kernel serves no update that must be a single instruction of a processor.
enum class Served { everywhere, not_by_network, directly };

/// One use of the library: a call, and its effect on the counts.
struct Use {
  char const* name;
  MPI_Count bytes;
  Served served;
  void (*call)(int rank, char* target);
};

double doubles[8] = {1, 2, 3, 4, 5, 6, 7, 8};
long longs[2] = {1, 0};
char strided_bytes[64];

void put_strided(int rank, char* target) {
  static MPI_Datatype rows = MPI_DATATYPE_NULL;
  if (rows == MPI_DATATYPE_NULL) {
    MPI_Type_vector(4, 3, 8, MPI_BYTE, &rows);
    MPI_Type_commit(&rows);
  }
  EXPECT_EQ(transfer(MPIX_RMA_PUT, strided_bytes, 1, rows, rank, target), MPI_SUCCESS);
}

void put_with_request(int rank, char* target) {
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(transfer(MPIX_RMA_PUT, doubles, 8, MPI_DOUBLE, rank, target, 0, &request), MPI_SUCCESS);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void put_planned(int rank, char* target) {
  MPIX_RMA_Plan plan = MPIX_RMA_PLAN_NULL;
  EXPECT_EQ(MPIX_RMA_Plan_create(MPIX_RMA_PUT, MPI_DOUBLE, rank, MPI_DOUBLE, world, nullptr, &plan),
            MPI_SUCCESS);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(MPIX_RMA_Plan_issue(plan, doubles, 2, target, 2, nullptr), MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Plan_free(&plan), MPI_SUCCESS);
}

void fetch_and_add(int rank, char* target) {
  EXPECT_EQ(MPIX_RMA_rmw(MPIX_RMW_SUM, &longs[0], 1, MPI_LONG, &longs[1], rank,
                         reinterpret_cast<MPI_Aint>(target), nullptr, &world, nullptr),
            MPI_SUCCESS);
  MPIX_RMA_Complete(&world, rank);
}

Use const uses[] = {
    {"put", 8, Served::everywhere,
     [](int rank, char* target) {
       EXPECT_EQ(transfer(MPIX_RMA_PUT, doubles, 1, MPI_DOUBLE, rank, target), MPI_SUCCESS);
     }},
    {"get", 64, Served::everywhere,
     [](int rank, char* target) {
       EXPECT_EQ(transfer(MPIX_RMA_GET, doubles, 8, MPI_DOUBLE, rank, target, MPIX_RMA_ATTR_BLOCKING),
                 MPI_SUCCESS);
     }},
    {"accumulate", 64, Served::not_by_network,
     [](int rank, char* target) {
       EXPECT_EQ(transfer(MPIX_RMA_ACCUMULATE, doubles, 8, MPI_DOUBLE, rank, target), MPI_SUCCESS);
     }},
    {"strided put", 12, Served::not_by_network, &put_strided},
    {"put with a request", 64, Served::everywhere, &put_with_request},
    {"fetch and add", 8, Served::directly, &fetch_and_add},
    {"nothing", 0, Served::everywhere,
     [](int rank, char* target) {
       EXPECT_EQ(transfer(MPIX_RMA_PUT, doubles, 0, MPI_DOUBLE, rank, target), MPI_SUCCESS);
     }},
};

int path_of(Use const& use, bool neighbour) {
  int const path = path_to(neighbour);
  bool const suits = use.served == Served::everywhere ||
                     (use.served == Served::not_by_network && path != MPIX_RMA_PROTOCOL_NETWORK) ||
                     path == MPIX_RMA_PROTOCOL_DIRECT;
  return suits ? path : MPIX_RMA_PROTOCOL_MESSAGE;
}

TEST(Statistics, CountEveryOperationOnce) {
  constexpr int repetitions = 5;
  Memory memory(4096);
  std::vector<int> const near = neighbours();
  for (int rank = 0; rank < memory.size(); ++rank) {
    bool const neighbour = near[static_cast<std::size_t>(rank)] != 0;
    if (path_to(neighbour) == MPIX_RMA_PROTOCOL_NETWORK) await_key(rank, memory.at(rank, Memory::allocated));
    for (Use const& use : uses) {
      auto const before = counts_of(rank);
      for (int i = 0; i < repetitions; ++i) use.call(rank, memory.at(rank, Memory::allocated, 64));
      Counts growth;
      if (use.bytes != 0) growth.add(path_of(use, neighbour), repetitions, use.bytes);
      SCOPED_TRACE(use.name);
      expect_growth(before, counts_of(rank), growth, rank);
    }
    auto const before = counts_of(rank);
    put_planned(rank, memory.at(rank, Memory::allocated, 128));
    Counts growth;
    growth.add(path_to(neighbour), 4, 16);
    SCOPED_TRACE("planned puts");
    expect_growth(before, counts_of(rank), growth, rank);
  }
  MPIX_RMA_Complete(&world, MPIX_ALL_RANKS);
}

TEST(Statistics, SumOverTheRanksOfAnyCommunicator) {
  Memory memory(4096);
  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm_split(world, 0, -memory.rank(), &reversed);
  for (int rank = 0; rank < memory.size(); ++rank)
    transfer(MPIX_RMA_GET, doubles, 8, MPI_DOUBLE, rank, memory.at(rank, Memory::plain),
             MPIX_RMA_ATTR_BLOCKING);
  Counts sum;
  for (int rank = 0; rank < memory.size(); ++rank) {
    auto const one = counts_of(rank);
    auto const same = counts_of(memory.size() - 1 - rank, reversed);
    for (int path = 1; path <= protocols; ++path) {
      EXPECT_EQ(one.operations[path], same.operations[path]);
      EXPECT_EQ(one.bytes[path], same.bytes[path]);
      sum.operations[path] += one.operations[path];
      sum.bytes[path] += one.bytes[path];
    }
  }
  auto const all = counts_of(MPIX_ALL_RANKS, reversed);
  MPI_Count operations = 0;
  for (int path = 1; path <= protocols; ++path) {
    EXPECT_EQ(all.operations[path], sum.operations[path]);
    EXPECT_EQ(all.bytes[path], sum.bytes[path]);
    operations += all.operations[path];
  }
  EXPECT_GE(operations, 1);
  EXPECT_EQ(statistic(MPIX_ALL_RANKS, MPIX_RMA_STATISTIC_OPERATIONS, MPIX_RMA_PROTOCOL_ALL, reversed),
            operations);
  for (int path : {MPIX_RMA_PROTOCOL_ALL, MPIX_RMA_PROTOCOL_DIRECT})
    EXPECT_EQ(statistic(0, MPIX_RMA_STATISTIC_COUNTED, path), direct_is_counted() ? 1 : 0);
  EXPECT_EQ(statistic(0, MPIX_RMA_STATISTIC_COUNTED, MPIX_RMA_PROTOCOL_MESSAGE), 1);
  MPI_Comm_free(&reversed);
}

TEST(Statistics, SentMessagesEqualExecutedMessages) {
  Memory memory(4096);
  auto const ranks = static_cast<std::size_t>(memory.size());
  for (int rank = 0; rank < memory.size(); ++rank) {
    for (int kind = 0; kind < Memory::kinds; ++kind)
      transfer(MPIX_RMA_PUT, doubles, 8, MPI_DOUBLE, rank, memory.at(rank, kind));
    fetch_and_add(rank, memory.at(rank, Memory::allocated, 256));
  }
  MPIX_RMA_Complete(&world, MPIX_ALL_RANKS);
  MPI_Barrier(world);
  std::vector<MPI_Count> sent(ranks);
  std::vector<MPI_Count> arrived(ranks);
  for (int rank = 0; rank < memory.size(); ++rank)
    sent[static_cast<std::size_t>(rank)] = statistic(rank, MPIX_RMA_STATISTIC_MESSAGES_SENT);
  MPI_Alltoall(sent.data(), 1, MPI_COUNT, arrived.data(), 1, MPI_COUNT, world);
  for (int rank = 0; rank < memory.size(); ++rank)
    EXPECT_EQ(statistic(rank, MPIX_RMA_STATISTIC_MESSAGES_EXECUTED), arrived[static_cast<std::size_t>(rank)])
        << rank;
  bool const only_messages = parameter("path", "auto") == "message";
  if (only_messages) {
    EXPECT_GE(sent[0], 4);
  }
  MPI_Barrier(world);
}

TEST(Statistics, InvalidArgumentsFailWithoutSideEffects) {
  ErrorsReturn const errors(world);
  int size = 0;
  MPI_Comm_size(world, &size);
  MPI_Count value = 77;
  auto const error_class = [&](MPI_Comm comm, int rank, int which, int protocol, MPI_Count* result) {
    int found = 0;
    MPI_Error_class(MPIX_RMA_Statistics(comm, rank, static_cast<MPIX_RMA_Statistic>(which),
                                        static_cast<MPIX_RMA_Protocol>(protocol), result),
                    &found);
    return found;
  };
  constexpr int sent = MPIX_RMA_STATISTIC_MESSAGES_SENT;
  constexpr int bytes = MPIX_RMA_STATISTIC_BYTES;
  EXPECT_EQ(error_class(world, size, sent, 0, &value), MPI_ERR_RANK);
  EXPECT_EQ(error_class(world, -7, sent, 0, &value), MPI_ERR_RANK);
  EXPECT_EQ(error_class(world, 0, sent, 0, nullptr), MPI_ERR_ARG);
  EXPECT_EQ(error_class(world, 0, 0, 0, &value), MPI_ERR_ARG);
  EXPECT_EQ(error_class(world, 0, MPIX_RMA_STATISTIC_COUNTED + 1, 0, &value), MPI_ERR_ARG);
  EXPECT_EQ(error_class(world, 0, bytes, protocols + 1, &value), MPI_ERR_ARG);
  EXPECT_EQ(error_class(world, 0, bytes, -1, &value), MPI_ERR_ARG);
  EXPECT_EQ(error_class(MPI_COMM_NULL, 0, sent, 0, &value), MPI_ERR_COMM);
  EXPECT_EQ(value, 77);
  EXPECT_EQ(error_class(world, MPI_PROC_NULL, sent, 99, &value), MPI_SUCCESS);
  EXPECT_EQ(value, 0);
}

}  // namespace
}  // namespace mpixrma::test
