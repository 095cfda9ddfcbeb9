#include "tests/windows/random/player.hpp"

#include <algorithm>
#include <cstring>

namespace mpixrma::random_windows {

namespace {

MPI_Op handle_of(Step const& step) { return stress::handle_of(step.op); }

}  // namespace

bool is_without_origin(Step const& step) {
  return step.call == Call::get_accumulate && step.op == Combine::no_op && step.seed % 2 == 0;
}

Player::Player(Plan const& plan, Shapes const& shapes, MPI_Comm comm)
    : plan_(plan), shapes_(shapes), comm_(comm) {
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}

bool Player::require(int code, Step const* step, char const* what) {
  if (code == MPI_SUCCESS) return true;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail(std::string(what) + " returned " + text + (step != nullptr ? ": " + describe(*step, plan_) : ""));
  return false;
}

void Player::fail(std::string const& line) {
  if (++failures_ <= 5) report_ += "rank " + std::to_string(rank_) + ": " + line + "\n";
}

std::uint64_t Player::run() {
  for (std::size_t i = 0; i < plan_.memories.size(); ++i) {
    models_.emplace_back();
    for (int rank = 0; rank < size_; ++rank)
      models_[i].push_back(
          initial(plan_.memories[i].layout, shapes_, plan_.seed + i * 64 + static_cast<std::uint64_t>(rank)));
  }
  std::vector<Window const*> first(plan_.memories.size());
  for (WindowPlan const& plan : plan_.windows) {
    auto const memory = static_cast<std::size_t>(plan.memory);
    windows_.push_back(std::make_unique<Window>(plan, plan_.memories[memory], comm_,
                                                plan.on_other ? first[memory] : nullptr,
                                                models_[memory][static_cast<std::size_t>(rank_)].bytes));
    if (!plan.on_other) first[memory] = windows_.back().get();
    if (!windows_.back()->made())
      fail("window " + std::to_string(windows_.size() - 1) + " could not be made");
  }
  std::uint64_t made = failures_ == 0 ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &made, 1, MPI_UINT64_T, MPI_MIN, comm_);
  if (made != 0) make_counters();
  for (Episode const& episode : plan_.episodes) {
    if (episode.enabled && made != 0) run_episode(episode);
  }
  if (made != 0) check_memories();
  while (!windows_.empty()) windows_.pop_back();  // first windows on memory of other windows
  MPI_Allreduce(MPI_IN_PLACE, &failures_, 1, MPI_UINT64_T, MPI_SUM, comm_);
  return failures_;
}

void Player::run_episode(Episode const& episode) {
  if (episode.epochs.empty()) {
    run_stores(episode);
  } else {
    std::size_t const segments = episode.steps.size();
    for (std::size_t segment = 0; segment < segments; ++segment) {
      for (Epoch const& epoch : episode.epochs) open(epoch, segment);
      for (int rank = 0; rank < size_; ++rank) {
        for (Step const& step : episode.steps[segment][static_cast<std::size_t>(rank)]) {
          if (!step.enabled) continue;
          if (rank == rank_) {
            play(step);
          } else {
            simulate(step);
          }
        }
      }
    }
    if (plan_.seed % 2 == 0) wait_all(plan_.seed);
    for (auto epoch = episode.epochs.rbegin(); epoch != episode.epochs.rend(); ++epoch) close(*epoch);
    wait_all(plan_.seed);
    for (Pending& pending : pending_) check(pending);
    pending_.clear();
    check_counters(episode);
  }
  MPI_Barrier(comm_);
}

void Player::open(Epoch const& epoch, std::size_t segment) {
  Window& used = window(epoch.window);
  auto const me = static_cast<std::size_t>(rank_);
  if (epoch.kind == Epoch::fence) {
    int const assert = !epoch.asserts ? 0 : segment == 0 ? MPI_MODE_NOPRECEDE : MPI_MODE_NOSTORE;
    require(MPI_Win_fence(assert, used.handle()), nullptr, "MPI_Win_fence");
    if (segment != 0) check_buffers(epoch.window, all_targets);
  } else if (segment != 0) {
    return;
  } else if (epoch.kind == Epoch::lock_all) {
    require(MPI_Win_lock_all(epoch.asserts ? MPI_MODE_NOCHECK : 0, used.handle()), nullptr,
            "MPI_Win_lock_all");
  } else if (epoch.kind == Epoch::pscw) {
    std::vector<int> origins;
    for (int origin = 0; origin < size_; ++origin) {
      auto const& targets = epoch.targets[static_cast<std::size_t>(origin)];
      if (std::find(targets.begin(), targets.end(), rank_) != targets.end()) origins.push_back(origin);
    }
    MPI_Group from = used.group(origins);
    MPI_Group to = used.group(epoch.targets[me]);
    int const nocheck = epoch.asserts ? MPI_MODE_NOCHECK : 0;
    require(MPI_Win_post(from, nocheck, used.handle()), nullptr, "MPI_Win_post");
    if (epoch.asserts) MPI_Barrier(comm_);
    require(MPI_Win_start(to, nocheck, used.handle()), nullptr, "MPI_Win_start");
    MPI_Group_free(&from);
    MPI_Group_free(&to);
  }
}

void Player::close(Epoch const& epoch) {
  MPI_Win const handle = window(epoch.window).handle();
  if (epoch.kind == Epoch::fence) {
    require(MPI_Win_fence(epoch.asserts ? MPI_MODE_NOSUCCEED : 0, handle), nullptr, "MPI_Win_fence");
  } else if (epoch.kind == Epoch::lock_all) {
    require(MPI_Win_unlock_all(handle), nullptr, "MPI_Win_unlock_all");
  } else if (epoch.kind == Epoch::pscw) {
    require(MPI_Win_complete(handle), nullptr, "MPI_Win_complete");
    int done = epoch.test ? 0 : 1;
    while (done == 0) {
      if (!require(MPI_Win_test(handle, &done), nullptr, "MPI_Win_test")) break;
    }
    if (!epoch.test) require(MPI_Win_wait(handle), nullptr, "MPI_Win_wait");
  }
  check_buffers(epoch.window, all_targets);
}

void Player::run_stores(Episode const& episode) {
  std::vector<int> mine;
  for (int rank = 0; rank < size_; ++rank) {
    for (Step const& step : episode.steps[0][static_cast<std::size_t>(rank)]) {
      if (!step.enabled) continue;
      if (rank != rank_) {
        simulate(step);
        continue;
      }
      Random random(step.seed);
      Buffer buffer(step.target_side);
      step.target_side.for_each([&](std::ptrdiff_t offset, std::size_t bytes) {
        fill(step.base, random, false, buffer.address() + offset, bytes);
      });
      Window& used = window(step.window);
      std::byte* const memory = step.target == rank_ ? used.memory() : used.memory_of(step.target);
      int const self = used.rank_of(step.target);
      bool const locks = used.locks();
      if (locks) require(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, self, 0, used.handle()), &step, "MPI_Win_lock");
      std::memcpy(memory + step.at, buffer.address(), step.target_side.span());
      if (locks) {
        require(MPI_Win_sync(used.handle()), &step, "MPI_Win_sync");
        require(MPI_Win_unlock(self, used.handle()), &step, "MPI_Win_unlock");
      }
      apply(step, model_of(step), &buffer, nullptr, nullptr);
    }
  }
}

/// Applies a step of another rank to the model.
void Player::simulate(Step const& step) {
  if (step.target == MPI_PROC_NULL || (!is_operation(step.call) && step.call != Call::store)) return;
  count(step);
  if (step.call == Call::get) return;
  Random random(step.seed);
  Buffer origin(step.origin);
  step.origin.for_each([&](std::ptrdiff_t offset, std::size_t bytes) {
    fill(step.base, random, step.op == Combine::prod, origin.address() + offset, bytes);
  });
  std::vector<std::byte> compare(step.target_side.bytes());
  if (step.call == Call::compare_and_swap) {
    fill(step.base, random, false, compare.data(), compare.size());
    if (step.seed % 4 != 0)
      std::memcpy(compare.data(), model_of(step).bytes.data() + step.at, compare.size());
  }
  apply(step, model_of(step), &origin, compare.data(), nullptr);
}

void Player::play(Step const& step) {
  if (is_operation(step.call)) {
    play_operation(step);
  } else {
    play_synchronisation(step);
  }
}

void Player::play_operation(Step const& step) {
  count(step);
  Pending pending{&step, nullptr, nullptr, {}};
  Random random(step.seed);
  bool const reads = step.call == Call::get;
  bool const fetches = step.call >= Call::get_accumulate;
  bool const nobody = step.target == MPI_PROC_NULL;
  pending.origin = std::make_unique<Buffer>(step.origin);
  if (!reads) {
    step.origin.for_each([&](std::ptrdiff_t offset, std::size_t bytes) {
      fill(step.base, random, step.op == Combine::prod, pending.origin->address() + offset, bytes);
    });
  }
  pending.origin->expect_present();
  if (fetches) {
    pending.result = std::make_unique<Buffer>(step.result);
    pending.result->expect_present();
  }
  pending.compare.resize(step.target_side.bytes());
  if (step.call == Call::compare_and_swap) {
    fill(step.base, random, false, pending.compare.data(), pending.compare.size());
    if (step.seed % 4 != 0 && !nobody)
      std::memcpy(pending.compare.data(), model_of(step).bytes.data() + step.at, pending.compare.size());
  }
  if (!nobody && reads) {
    Step as_result = step;
    as_result.result = step.origin;
    apply(as_result, model_of(step), nullptr, nullptr, pending.origin.get());
  } else if (!nobody) {
    apply(step, model_of(step), pending.origin.get(), pending.compare.data(), pending.result.get());
  }
  pending_.push_back(std::move(pending));
  if (!require(issue(pending_.back()), &step, name_of(step.call))) pending_.pop_back();
}

int Player::issue(Pending& pending) {
  Step const& step = *pending.step;
  Window& used = window(step.window);
  int const target = used.rank_of(step.target);
  MPI_Aint const at = used.displacement(step.target, step.at);
  if (step.call == Call::fetch_and_op || step.call == Call::compare_and_swap)
    return issue_single(pending, target, at);
  if (step.notification >= 0) return issue_notification(pending, target, at);
  if (step.request) return issue_with_request(pending, target, at);
  Use const& o = step.origin;
  Use const& t = step.target_side;
  void* const origin = pending.origin->address();
  MPI_Datatype const type = o.shape->type;
  MPI_Datatype const target_type = t.shape->type;
  switch (step.call) {
    case Call::put: return MPI_Put(origin, o.count, type, target, at, t.count, target_type, used.handle());
    case Call::get: return MPI_Get(origin, o.count, type, target, at, t.count, target_type, used.handle());
    case Call::accumulate:
      return MPI_Accumulate(origin, o.count, type, target, at, t.count, target_type, handle_of(step),
                            used.handle());
    default:
      return MPI_Get_accumulate(is_without_origin(step) ? nullptr : origin,
                                is_without_origin(step) ? 0 : o.count, type, pending.result->address(),
                                step.result.count, step.result.shape->type, target, at, t.count, target_type,
                                handle_of(step), used.handle());
  }
}

int Player::issue_with_request(Pending& pending, int target, MPI_Aint at) {
  Step const& step = *pending.step;
  MPI_Win const handle = window(step.window).handle();
  Use const& o = step.origin;
  Use const& t = step.target_side;
  void* const origin = pending.origin->address();
  MPI_Datatype const type = o.shape->type;
  MPI_Datatype const target_type = t.shape->type;
  MPI_Request* const request = &pending.request;
  switch (step.call) {
    case Call::put: return MPI_Rput(origin, o.count, type, target, at, t.count, target_type, handle, request);
    case Call::get: return MPI_Rget(origin, o.count, type, target, at, t.count, target_type, handle, request);
    case Call::accumulate:
      return MPI_Raccumulate(origin, o.count, type, target, at, t.count, target_type, handle_of(step), handle,
                             request);
    default:
      return MPI_Rget_accumulate(is_without_origin(step) ? nullptr : origin,
                                 is_without_origin(step) ? 0 : o.count, type, pending.result->address(),
                                 step.result.count, step.result.shape->type, target, at, t.count, target_type,
                                 handle_of(step), handle, request);
  }
}

int Player::issue_single(Pending& pending, int target, MPI_Aint at) {
  Step const& step = *pending.step;
  MPI_Win const handle = window(step.window).handle();
  MPI_Datatype const type = step.base->type;
  void* const origin = pending.origin->address();
  void* const result = pending.result->address();
  if (step.call == Call::fetch_and_op)
    return MPI_Fetch_and_op(origin, result, type, target, at, handle_of(step), handle);
  return MPI_Compare_and_swap(origin, pending.compare.data(), result, type, target, at, handle);
}

void Player::play_synchronisation(Step const& step) {
  Window& used = window(step.window);
  int const target = used.rank_of(step.target);
  int const assert = step.nocheck ? MPI_MODE_NOCHECK : 0;
  int code = MPI_SUCCESS;
  switch (step.call) {
    case Call::lock:
      code =
          MPI_Win_lock(step.exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, assert, used.handle());
      break;
    case Call::lock_all: code = MPI_Win_lock_all(assert, used.handle()); break;
    case Call::unlock: code = MPI_Win_unlock(target, used.handle()); break;
    case Call::unlock_all: code = MPI_Win_unlock_all(used.handle()); break;
    case Call::flush: code = MPI_Win_flush(target, used.handle()); break;
    case Call::flush_all: code = MPI_Win_flush_all(used.handle()); break;
    case Call::flush_local: code = MPI_Win_flush_local(target, used.handle()); break;
    case Call::flush_local_all: code = MPI_Win_flush_local_all(used.handle()); break;
    case Call::sync: code = MPI_Win_sync(used.handle()); break;
    case Call::wait: wait_all(step.seed); return;
    default: code = play_extension(step); break;
  }
  require(code, &step, name_of(step.call));
  if (step.call == Call::unlock || step.call == Call::flush || step.call == Call::flush_local) {
    check_buffers(step.window, step.target);
  } else if (step.call == Call::unlock_all || step.call == Call::flush_all ||
             step.call == Call::flush_local_all) {
    check_buffers(step.window, all_targets);
  }
}

/// Completes all requests by one of MPI's calls.
void Player::wait_all(std::uint64_t seed) {
  std::vector<MPI_Request> requests;
  std::vector<Pending*> owners;
  for (Pending& pending : pending_) {
    if (pending.request == MPI_REQUEST_NULL) continue;
    requests.push_back(pending.request);
    owners.push_back(&pending);
  }
  auto const count = static_cast<int>(requests.size());
  if (seed % 3 == 0) {
    require(MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE), nullptr, "MPI_Waitall");
  } else if (seed % 3 == 1) {
    for (MPI_Request& request : requests) {
      for (int done = 0; done == 0;)
        require(MPI_Test(&request, &done, MPI_STATUS_IGNORE), nullptr, "MPI_Test");
    }
  } else {
    int index = 0;
    for (int i = 0; i < count; ++i)
      require(MPI_Waitany(count, requests.data(), &index, MPI_STATUS_IGNORE), nullptr, "MPI_Waitany");
  }
  for (Pending* const owner : owners) {
    owner->request = MPI_REQUEST_NULL;
    check(*owner);
  }
  wait_for_flushes();
}

void Player::check_buffers(int window, int target) {
  for (Pending& pending : pending_) {
    bool const meant =
        pending.step->window == window && (target == all_targets || pending.step->target == target);
    if (meant) check(pending);
  }
}

void Player::check(Pending& pending) {
  if (pending.released) return;
  pending.released = true;
  for (Buffer* const buffer : {pending.origin.get(), pending.result.get()}) {
    if (buffer == nullptr) continue;
    if (std::optional<std::ptrdiff_t> const at = buffer->difference())
      fail((buffer == pending.origin.get() && pending.step->call != Call::get ? "origin changed at byte "
                                                                              : "wrong value at byte ") +
           std::to_string(*at) + ": " + describe(*pending.step, plan_));
    buffer->scribble();
  }
}

void Player::check_memories() {
  for (std::size_t i = 0; i < plan_.windows.size(); ++i) {
    Window& used = *windows_[i];
    auto const memory = static_cast<std::size_t>(plan_.windows[i].memory);
    auto const me = static_cast<std::size_t>(rank_);
    if (plan_.windows[i].on_other || !plan_.memories[memory].present[me]) continue;
    if (used.locks())
      require(MPI_Win_lock(MPI_LOCK_SHARED, used.rank_of(rank_), 0, used.handle()), nullptr, "MPI_Win_lock");
    std::string const difference =
        difference_of(used.content(), models_[memory][me], plan_.memories[memory].layout);
    if (!difference.empty()) fail("memory of window " + std::to_string(i) + " differs " + difference);
    if (used.locks()) require(MPI_Win_unlock(used.rank_of(rank_), used.handle()), nullptr, "MPI_Win_unlock");
  }
}

}  // namespace mpixrma::random_windows
