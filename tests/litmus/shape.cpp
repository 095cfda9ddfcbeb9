#include "tests/litmus/shape.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace mpixrma::test::litmus {

namespace {

constexpr Step put_x{Step::Kind::put, Variable::x};
constexpr Step put_y{Step::Kind::put, Variable::y};
constexpr Step put_z{Step::Kind::put, Variable::z};
constexpr Step get_x{Step::Kind::get, Variable::x};
constexpr Step get_y{Step::Kind::get, Variable::y};
constexpr Step get_z{Step::Kind::get, Variable::z};
constexpr Step order{Step::Kind::order};

using Logs = std::vector<Log>;

/// Returns the k-th value that a role has fetched in a round.
Value at(Log const& log, std::size_t k, std::uint64_t round) { return log.values[k][round - 1]; }

/// Round i of role 0 has not seen the store of round j of role 1, nor round j the store of round i. The
/// values do not decrease, so for each i the smallest such j decides.
std::uint64_t count_store_buffering(Logs const& logs) {
  std::uint64_t found = 0;
  for (std::uint64_t i = 1; i <= logs[0].rounds; ++i) {
    auto const j = static_cast<std::uint64_t>(at(logs[0], 0, i)) + 1;
    if (j <= logs[1].rounds && at(logs[1], 0, j) < static_cast<Value>(i)) ++found;
  }
  return found;
}

/// y of a round was visible, x of that round was not.
std::uint64_t count_message_passing(Logs const& logs) {
  std::uint64_t found = 0;
  for (std::uint64_t j = 1; j <= logs[1].rounds; ++j) found += at(logs[1], 1, j) < at(logs[1], 0, j);
  return found;
}

/// Round i of role 0 has seen the store that round j of role 1 made after having seen the store of round i.
std::uint64_t count_load_buffering(Logs const& logs) {
  std::uint64_t found = 0;
  for (std::uint64_t i = 1; i <= logs[0].rounds; ++i) {
    auto const j = static_cast<std::uint64_t>(at(logs[0], 0, i));
    if (j >= 1 && j <= logs[1].rounds && at(logs[1], 0, j) >= static_cast<Value>(i)) ++found;
  }
  return found;
}

/// A later get has seen an earlier value.
std::uint64_t count_incoherence(Logs const& logs) {
  std::uint64_t found = 0;
  Value newest = 0;
  for (std::uint64_t j = 1; j <= logs[1].rounds; ++j) {
    for (std::size_t k = 0; k < 2; ++k) {
      found += at(logs[1], k, j) < newest;
      newest = at(logs[1], k, j);
    }
  }
  return found;
}

std::uint64_t count_own_write_missed(Logs const& logs) {
  std::uint64_t found = 0;
  for (Log const& log : logs) {
    for (std::uint64_t i = 1; i <= log.rounds; ++i) found += at(log, 0, i) != static_cast<Value>(i);
  }
  return found;
}

/// Role 2 has seen the store of a round of role 1, and then an x older than the value that this round had
/// seen before its store.
std::uint64_t count_broken_chains(Logs const& logs) {
  std::uint64_t found = 0;
  for (std::uint64_t k = 1; k <= logs[2].rounds; ++k) {
    auto const j = static_cast<std::uint64_t>(at(logs[2], 0, k));
    if (j >= 1 && j <= logs[1].rounds) found += at(logs[2], 1, k) < at(logs[1], 0, j);
  }
  return found;
}

/// Role 2 has seen a store to x before one to y, and role 3 that one to y before the one to x. The values do
/// not decrease, so for each round of role 2 the first round of role 3 with a later y decides.
std::uint64_t count_disagreements(Logs const& logs) {
  std::uint64_t found = 0;
  auto const& y_first = logs[3].values[0];
  auto const end = y_first.begin() + static_cast<std::ptrdiff_t>(logs[3].rounds);
  for (std::uint64_t k = 1; k <= logs[2].rounds; ++k) {
    auto const later = std::upper_bound(y_first.begin(), end, at(logs[2], 1, k));
    if (later == end) continue;
    auto const l = static_cast<std::uint64_t>(later - y_first.begin()) + 1;
    found += at(logs[3], 1, l) < at(logs[2], 0, k);
  }
  return found;
}

void run_round(std::vector<Step> const& steps, Port& port, bool word_per_round, std::uint64_t round,
               Log& log) {
  std::uint64_t puts = 0;
  std::size_t gets = 0;
  for (Step const step : steps) {
    switch (step.kind) {
      case Step::Kind::put: port.put(step.variable, word_per_round ? ++puts : round); break;
      case Step::Kind::get: port.get(step.variable, &log.values[gets++][round - 1]); break;
      case Step::Kind::order: port.order(); break;
    }
  }
}

}  // namespace

Value const* numbers() {
  static std::vector<Value> const values = [] {
    std::vector<Value> made(max_rounds + 2);
    std::iota(made.begin(), made.end(), 0);
    return made;
  }();
  return values.data();
}

Shape const store_buffering{"store buffering",
                            {{put_x, order, get_y, order}, {put_y, order, get_x, order}},
                            false,
                            &count_store_buffering};
Shape const message_passing{"message passing",
                            {{put_x, order, put_y, order}, {get_y, order, get_x, order}},
                            false,
                            &count_message_passing};
Shape const load_buffering{"load buffering",
                           {{get_x, order, put_y, order}, {get_y, order, put_x, order}},
                           false,
                           &count_load_buffering};
Shape const two_plus_two_writes{
    "2+2W", {{put_x, order, put_y, order}, {put_y, order, put_x, order}}, true, nullptr};
Shape const coherence{"coherence", {{put_x, order}, {get_x, order, get_x, order}}, false, &count_incoherence};
Shape const read_own_write{"read own write",
                           {{put_x, order, get_x, order}, {put_y, order, get_y, order}},
                           false,
                           &count_own_write_missed};

Shape const write_to_read_causality{
    "write-to-read causality",
    {{put_x, order}, {get_x, order, put_y, order}, {get_y, order, get_x, order}},
    false,
    &count_broken_chains};
Shape const isa2{"ISA2",
                 {{put_x, order, put_y, order}, {get_y, order, put_z, order}, {get_z, order, get_x, order}},
                 false,
                 &count_broken_chains};
Shape const iriw{"IRIW",
                 {{put_x, order}, {put_y, order}, {get_x, order, get_y, order}, {get_y, order, get_x, order}},
                 false,
                 &count_disagreements};

bool Shape::uses(Variable variable) const {
  return std::any_of(roles.begin(), roles.end(), [variable](std::vector<Step> const& steps) {
    return std::any_of(steps.begin(), steps.end(), [variable](Step const& step) {
      return step.kind != Step::Kind::order && step.variable == variable;
    });
  });
}

void run(Shape const& shape, int role, Port& port, Length length, Log* log) {
  std::vector<Step> const& steps = shape.roles[static_cast<std::size_t>(role)];
  for (auto& values : log->values) values.assign(max_rounds, 0);
  bool const timed = length.exact_rounds == 0;
  std::uint64_t const permitted = shape.word_per_round ? words_per_sweep : max_rounds;
  std::uint64_t const most = timed ? permitted : std::min(permitted, length.exact_rounds);
  constexpr std::uint64_t rounds_between_looks = 64;
  auto const end = std::chrono::steady_clock::now() + std::chrono::microseconds(length.microseconds);
  std::uint64_t round = 0;
  while (round < most) {
    if (timed && round % rounds_between_looks == 0 && std::chrono::steady_clock::now() > end) break;
    ++round;
    if (shape.word_per_round) port.select(round);
    run_round(steps, port, shape.word_per_round, round, *log);
  }
  log->rounds = round;
  port.finish();
}

}  // namespace mpixrma::test::litmus
