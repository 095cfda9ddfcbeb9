#include "tests/windows/random/operations.hpp"

#include <algorithm>
#include <numeric>

namespace mpixrma::random_windows {

namespace {

/// The base type and the operation of one of the parts that all origins share.
struct Meeting {
  MPI_Datatype type;
  Combine op;
};
Meeting meeting(int which) {
  Meeting const all[] = {{MPI_LONG, Combine::sum},
                         {MPI_DOUBLE, Combine::sum},
                         {MPI_UNSIGNED, Combine::bxor},
                         {MPI_INT, Combine::max}};
  return all[which];
}

Conflicts::Kind kind_of(Call call) {
  return call == Call::get ? Conflicts::read : call == Call::put ? Conflicts::write : Conflicts::accumulate;
}

/// Whether MPI_Compare_and_swap is defined for the type.
bool compares(Base const& base) {
  return base.has(stress::Modify::mask_swap) || (base.has(stress::Modify::eq) && base.logical);
}

/// MPI defines logical operations on C's integers and on logicals, not on Fortran's integers and those of
/// addresses.
bool computes(Base const& base, Combine op) {
  if (!base.has(op)) return false;
  if (op < Combine::land || op > Combine::lxor) return true;
  MPI_Datatype const without[] = {MPI_INTEGER,  MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4,
                                  MPI_INTEGER8, MPI_AINT,     MPI_OFFSET,   MPI_COUNT};
  return std::find(std::begin(without), std::end(without), base.type) == std::end(without);
}

}  // namespace

bool Operations::usable(Base const& base) const {
  if (features_.has(Feature::exotic)) return true;
  return base.type == MPI_BYTE || base.type == MPI_INT || base.type == MPI_LONG || base.type == MPI_DOUBLE;
}

Base const* Operations::draw_base(int zone, Call call, Combine op) {
  auto const& bases = shapes_.bases_of(zone);
  for (int attempts = 0; attempts < 30; ++attempts) {
    Base const& base = *bases[below(bases.size())];
    bool const suits = call == Call::put || call == Call::get || call == Call::store ||
                       (call == Call::compare_and_swap ? compares(base) : computes(base, op));
    if (suits && usable(base)) return &base;
  }
  return nullptr;
}

bool Operations::draw_call(Step& step) {
  static constexpr Call calls[] = {Call::put,
                                   Call::put,
                                   Call::get,
                                   Call::get,
                                   Call::accumulate,
                                   Call::accumulate,
                                   Call::get_accumulate,
                                   Call::fetch_and_op,
                                   Call::compare_and_swap};
  step.call = calls[below(std::size(calls))];
  if (step.call == Call::get_accumulate && !features_.has(Feature::get_accumulate)) return false;
  if (step.call == Call::fetch_and_op && !features_.has(Feature::fetch)) return false;
  if (step.call == Call::compare_and_swap && !features_.has(Feature::swap)) return false;
  step.op = features_.has(Feature::mixed) ? static_cast<Combine>(below(stress::combines))
            : chance(50)                  ? Combine::sum
                                          : Combine::replace;
  return step.call != Call::accumulate || step.op != Combine::no_op;
}

/// Draws layouts with equal numbers of bytes on all sides.
bool Operations::draw_uses(Step& step) {
  bool const single = step.call == Call::fetch_and_op || step.call == Call::compare_and_swap;
  bool const derived = !single && chance(Feature::derived, 60);
  auto const draw = [&] { return derived ? &shapes_.any(random_, *step.base) : &shapes_.plain(*step.base); };
  Shape const* const there = draw();
  Shape const* const origin = draw();
  Shape const* const result = draw();
  step.target_side = {there, 0};
  step.origin = {origin, 0};
  step.result = {result, 0};
  if (there->bytes == 0 || origin->bytes == 0 || result->bytes == 0) return !single;
  if (!single && chance(2)) return true;
  std::size_t const unit = std::lcm(std::lcm(there->bytes, origin->bytes), result->bytes);
  std::size_t const wanted = chance(70) ? 100 : chance(80) ? 2000 : 60000;
  std::size_t times = single ? 1 : 1 + below(std::max<std::size_t>(wanted / unit, 1));
  for (Use const* use : {&step.target_side, &step.origin, &step.result}) {
    if (unit / use->shape->bytes > static_cast<std::size_t>(use->shape->most)) return false;
    times = std::min(times, static_cast<std::size_t>(use->shape->most) / (unit / use->shape->bytes));
  }
  for (Use* use : {&step.target_side, &step.origin, &step.result})
    use->count = static_cast<int>(times * (unit / use->shape->bytes));
  return unit * times <= 60000;
}

/// A datatype of several predefined ones, the same on both sides.
void Operations::draw_mixture(Step& step) {
  Shape const& shape = shapes_.any(random_, 0);
  auto const most = static_cast<std::uint64_t>(std::clamp(shape.most, 1, 30));
  step.target_side = {&shape, shape.bytes == 0 ? 0 : static_cast<int>(1 + below(most))};
  step.origin = step.result = step.target_side;
}

int Operations::zone_of_doubles() const {
  auto const& bases = shapes_.bases();
  return std::find_if(bases.begin(), bases.end(), [](Base const& base) { return base.type == MPI_DOUBLE; })
      ->zone;
}

/// Draws an offset at which the touched range lies in the zone of the origin's slice.
bool Operations::place(Step& step, int rank, int zone, std::size_t grain) {
  Layout const& of = layout(step.window);
  auto const unit =
      static_cast<std::size_t>(window(step.window).units[static_cast<std::size_t>(step.target)]);
  auto const multiple = static_cast<std::ptrdiff_t>(std::lcm(grain, unit));
  auto const begin = static_cast<std::ptrdiff_t>(of.slice_at(rank) + of.zone_at(zone));
  auto const bytes = static_cast<std::ptrdiff_t>(of.bytes_of_zone(zone));
  std::ptrdiff_t const lowest = begin + std::max<std::ptrdiff_t>(-step.target_side.low(), 0);
  std::ptrdiff_t const first = (lowest + multiple - 1) / multiple * multiple;
  std::ptrdiff_t const last = begin + bytes - std::max<std::ptrdiff_t>(step.target_side.high(), 0);
  if (last < first) return false;
  auto range = static_cast<std::uint64_t>((last - first) / multiple + 1);
  if (chance(50)) range = std::min<std::uint64_t>(range, 40);  // so that operations overlap
  step.at = static_cast<std::size_t>(first) + below(range) * static_cast<std::size_t>(multiple);
  return true;
}

bool Operations::draw_meeting(Access const& access, Step& step) {
  int const which = crowd_ >= 0 ? crowd_ : static_cast<int>(below(Layout::meetings));
  Meeting const& of = meeting(which);
  auto const& bases = shapes_.bases();
  auto const found =
      std::find_if(bases.begin(), bases.end(), [&](Base const& base) { return base.type == of.type; });
  if (found == bases.end() || !usable(*found)) return false;
  auto const unit =
      static_cast<std::size_t>(window(access.window).units[static_cast<std::size_t>(step.target)]);
  std::size_t const grain = std::lcm(unit, found->size);
  std::size_t const bytes = layout(access.window).shared_elements * found->size;
  step.call = chance(60) ? Call::accumulate : chance(50) ? Call::get_accumulate : Call::fetch_and_op;
  if (step.call == Call::get_accumulate && !features_.has(Feature::get_accumulate)) return false;
  if (step.call == Call::fetch_and_op && !features_.has(Feature::fetch)) return false;
  step.op =
      step.call != Call::accumulate && !window(access.window).same_op && chance(20) ? Combine::no_op : of.op;
  step.base = &*found;
  step.checked = false;
  std::size_t const offset = below(bytes / grain) * grain;
  std::size_t const most = (bytes - offset) / found->size;
  int const count = step.call == Call::fetch_and_op ? 1 : static_cast<int>(1 + below(most));
  step.target_side = step.origin = step.result = {&shapes_.plain(*found), count};
  step.at = layout(access.window).meeting_at(which) + offset;
  return true;
}

bool Operations::draw(Access const& access, Step& step) {
  step.window = access.window;
  step.target = access.targets[below(access.targets.size())];
  step.seed = random_();
  bool const crowded = crowd_ >= 0 && chance(90);
  if (crowded) step.target = access.targets.front();
  if (crowded || chance(Feature::meet, 15)) return draw_meeting(access, step);
  if (!draw_call(step)) return false;
  bool const moves = step.call == Call::put || step.call == Call::get;
  bool const exotic = features_.has(Feature::exotic);
  int zone = chance(60) ? 0 : exotic ? static_cast<int>(below(stress::zones)) : zone_of_doubles();
  if (moves && exotic && chance(Feature::derived, 30)) {
    zone = 0;
    draw_mixture(step);
  } else {
    step.base = draw_base(zone, step.call, step.op);
    if (step.base == nullptr || !draw_uses(step)) return false;
  }
  bool const anywhere = step.base == nullptr || (zone == 0 && moves && chance(30));
  std::size_t const grain = anywhere ? 1 : step.base->size;
  return place(step, access.rank, zone, grain);
}

Call Operations::draw_completion() {
  static constexpr std::pair<Call, Feature> extensions[] = {
      {Call::order, Feature::ordering},       {Call::order_all, Feature::ordering},
      {Call::iflush, Feature::iflush},        {Call::iflush_all, Feature::iflush},
      {Call::iflush_local, Feature::iflush},  {Call::iflush_local_all, Feature::iflush},
      {Call::flush_thread, Feature::thread},  {Call::flush_thread_all, Feature::thread},
      {Call::flush_windows, Feature::several}};
  static constexpr Call calls[] = {Call::flush,           Call::flush_all, Call::flush_local,
                                   Call::flush_local_all, Call::wait,      Call::sync};
  auto const& [call, feature] = extensions[below(std::size(extensions))];
  Call const usual = calls[below(std::size(calls))];
  return chance(feature, 50) ? call : usual;
}

/// Later operations may rely on the completion.
void Operations::note_completion(Step const& step, int rank) {
  switch (step.call) {
    case Call::flush:
    case Call::flush_thread:
    case Call::iflush:
    case Call::order: conflicts_.flush(step.window, rank, step.target); break;
    case Call::flush_all:
    case Call::flush_thread_all:
    case Call::iflush_all:
    case Call::order_all: conflicts_.flush(step.window, rank, -1); break;
    case Call::flush_windows:
      for (int const window : step.windows) conflicts_.flush(window, rank, -1);
      break;
    case Call::wait: conflicts_.wait(rank); break;
    default: break;
  }
}

void Operations::add_completion(Access const& access, std::vector<Access> const& open,
                                std::vector<Step>& steps) {
  Step step;
  step.call = draw_completion();
  step.window = access.window;
  step.target = access.targets[below(access.targets.size())];
  step.seed = random_();
  for (Access const& other : open) {
    if (step.call == Call::flush_windows && other.passive && (other.window == access.window || chance(70)))
      step.windows.push_back(other.window);
  }
  // Later operations rely on some completions; the others can be removed.
  step.needed = chance(50);
  if (step.needed) note_completion(step, access.rank);
  steps.push_back(std::move(step));
}

void Operations::add(Access const& access, std::vector<Access> const& open, std::vector<Step>& steps) {
  if (access.passive && chance(15)) return add_completion(access, open, steps);
  Step step;
  if (!draw(access, step)) return;
  ++plan_.operations;
  step.request = access.passive && step.call <= Call::get_accumulate && chance(Feature::requests, 25);
  std::vector<int> const& counters = window(step.window).counters;
  auto const number = counters.empty() ? 0 : counters[static_cast<std::size_t>(step.target)];
  if (access.passive && number != 0 && step.call <= Call::get_accumulate && chance(25))
    step.notification = static_cast<int>(below(static_cast<std::uint64_t>(number)));
  if (chance(Feature::nobody, 1)) {
    step.target = MPI_PROC_NULL;
    steps.push_back(step);
    return;
  }
  if (step.checked) {
    auto const at = static_cast<std::ptrdiff_t>(step.at);
    Conflicts::Range const range{step.window,
                                 access.rank,
                                 step.target,
                                 at + step.target_side.low(),
                                 at + step.target_side.high(),
                                 kind_of(step.call),
                                 step.base,
                                 step.request};
    bool const ordered =
        features_.has(Feature::order) && !window(step.window).unordered && !window(step.window).same_op;
    if (conflicts_.meets(range, ordered)) {
      if (!access.passive) {
        --plan_.operations;
        return;
      }
      Step flush;
      flush.window = step.window;
      flush.target = step.target;
      flush.needed = true;
      flush.call = chance(70) ? Call::flush : Call::flush_all;
      if (chance(Feature::ordering, 30)) flush.call = chance(70) ? Call::order : Call::order_all;
      if (chance(Feature::iflush, 10)) flush.call = Call::iflush;
      note_completion(flush, access.rank);
      steps.push_back(flush);
    }
    conflicts_.add(range);
  }
  steps.push_back(step);
}

void Operations::add_store(int index, int rank, std::vector<Step>& steps) {
  WindowPlan const& of = window(index);
  auto const& present = plan_.memories[static_cast<std::size_t>(of.memory)].present;
  Step step;
  step.call = Call::store;
  step.window = index;
  step.target = of.flavour == Flavour::shared ? static_cast<int>(below(present.size())) : rank;
  if (!present[static_cast<std::size_t>(step.target)]) return;
  step.seed = random_();
  auto const zone = static_cast<int>(features_.has(Feature::exotic) ? below(stress::zones) : 0);
  step.base = draw_base(zone, Call::store, Combine::replace);
  if (step.base == nullptr || (zone != 0 && step.base->arithmetic == nullptr)) return;
  step.target_side = {&shapes_.plain(*step.base), static_cast<int>(1 + below(20))};
  step.origin = step.target_side;
  if (!place(step, rank, zone, step.base->size)) return;
  steps.push_back(step);
}

}  // namespace mpixrma::random_windows
