#include "tests/litmus/mpix_port.hpp"

#include <algorithm>

namespace mpixrma::test::litmus {

namespace {

/// Two words, 64 bytes apart.
MPI_Datatype strided_type() {
  static MPI_Datatype const type = [] {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 8, MPI_INT64_T, &made);
    MPI_Type_commit(&made);
    return made;
  }();
  return type;
}

Value const one = 1;

template <typename Enum>
char const* name(Enum value, char const* const (&names)[static_cast<unsigned>(Enum::count_)]) {
  return names[static_cast<unsigned>(value)];
}

}  // namespace

std::string Setting::text() const {
  static char const* const kinds[] = {"allocated", "registered", "heap"};
  static char const* const puts[] = {"put", "strided put", "accumulate", "swap"};
  static char const* const gets[] = {"blocking get", "get", "get of the span"};
  static char const* const homes[] = {"role 0", "role 1", "the last rank", "a rank each"};
  std::string text = std::string("x ") + name(kind[0], kinds) + ", y " + name(kind[1], kinds) + ", z " +
                     name(kind[2], kinds) + " at " + name(home, homes) + "; " + name(put, puts) + ", " +
                     name(get, gets);
  if (second_comm) text += ", two communicators";
  if (threads) text += ", threads";
  if (all_ranks) text += ", all ranks";
  if (helper) text += ", ordered by another thread";
  return text;
}

MpixPort::MpixPort(Promise const& promise, Setting setting, Place place)
    : promise_(promise), setting_(setting), place_(place) {
  (void)numbers();
  (void)strided_type();
}

char* MpixPort::address(Variable variable) const {
  return place_.variable[static_cast<unsigned>(variable)] + offset_;
}

int MpixPort::rank(Variable variable) const { return place_.rank[static_cast<unsigned>(variable)]; }

void MpixPort::select(std::uint64_t round) { offset_ = 2 * distance * static_cast<std::ptrdiff_t>(round); }

void MpixPort::transfer(MPIX_RMA_Op op, void const* origin, int count, Variable variable,
                        MPI_Datatype target_type, int target_count, std::uint64_t more) {
  MPIX_RMA_Attributes chosen{};
  chosen.set = promise_.attributes | more;
  MPI_Request request = MPI_REQUEST_NULL;
  bool const waits = promise_.waits && op != MPIX_RMA_GET;
  last_rank_ = rank(variable);
  require(MPIX_RMA_xfer(op, const_cast<void*>(origin), count, MPI_INT64_T, last_rank_, address(variable),
                        target_count, target_type, waits ? &request : nullptr, &place_.comm,
                        chosen.set != 0 ? &chosen : nullptr),
          "MPIX_RMA_xfer");
  if (waits) require(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
}

void MpixPort::put_block(Variable variable, std::uint64_t round) {
  std::fill_n(buffer_, block_words, static_cast<Value>(round));
  transfer(MPIX_RMA_PUT, buffer_, block_words, variable, MPI_INT64_T, block_words, 0);
}

/// A torn block counts as older than all others.
void MpixPort::get_block(Variable variable, Value* result) {
  transfer(MPIX_RMA_GET, buffer_, block_words, variable, MPI_INT64_T, block_words, MPIX_RMA_ATTR_BLOCKING);
  bool const whole = std::all_of(buffer_, buffer_ + block_words, [&](Value v) { return v == buffer_[0]; });
  *result = whole ? buffer_[0] : -1;
}

void MpixPort::put(Variable variable, std::uint64_t round) {
  if (promise_.blocks) return put_block(variable, round);
  std::uint64_t more = 0;
  if (promise_.notifies) {
    if (variable == Variable::y) return;
    more = MPIX_RMA_ATTR_NOTIFY;  // counter 0
  }
  Value const* const value = numbers() + round;
  switch (setting_.put) {
    case Setting::Put::strided: return transfer(MPIX_RMA_PUT, value, 2, variable, strided_type(), 1, more);
    case Setting::Put::accumulate:
      return transfer(MPIX_RMA_ACCUMULATE, &one, 1, variable, MPI_INT64_T, 1, more);
    case Setting::Put::swap: {
      MPIX_RMA_Attributes chosen{};
      chosen.set = promise_.attributes | more;
      last_rank_ = rank(variable);
      require(MPIX_RMA_rmw(MPIX_RMW_SWAP, const_cast<Value*>(value), 1, MPI_INT64_T, nullptr, last_rank_,
                           reinterpret_cast<MPI_Aint>(address(variable)), nullptr, &place_.comm, &chosen),
              "MPIX_RMA_rmw");
      return;
    }
    default: return transfer(MPIX_RMA_PUT, value, 1, variable, MPI_INT64_T, 1, more);
  }
}

void MpixPort::get(Variable variable, Value* result) {
  if (promise_.blocks) return get_block(variable, result);
  if (promise_.notifies) {
    // At the target: its counter, and its own load.
    *result = variable == Variable::y ? notification_value(place_.comm, 0) - place_.notified_before
                                      : *reinterpret_cast<Value const volatile*>(address(variable));
    return;
  }
  if (setting_.get == Setting::Get::span) {
    constexpr int words = 2 * block_words + 1;
    transfer(MPIX_RMA_GET, buffer_, words, Variable::x, MPI_INT64_T, words, MPIX_RMA_ATTR_BLOCKING);
    *result = buffer_[static_cast<int>(variable) * block_words];
    return;
  }
  std::uint64_t const more = setting_.get == Setting::Get::blocking ? MPIX_RMA_ATTR_BLOCKING : 0;
  transfer(MPIX_RMA_GET, result, 1, variable, MPI_INT64_T, 1, more);
}

void MpixPort::order() {
  int const rank = setting_.all_ranks ? MPIX_ALL_RANKS : last_rank_;
  if (promise_.action == Promise::Action::fence)
    require(MPIX_RMA_Fence(&place_.comm, rank), "MPIX_RMA_Fence");
  if (promise_.action == Promise::Action::complete)
    require(MPIX_RMA_Complete(&place_.comm, rank), "MPIX_RMA_Complete");
}

void MpixPort::finish() { require(MPIX_RMA_Complete(&place_.comm, MPIX_ALL_RANKS), "MPIX_RMA_Complete"); }

}  // namespace mpixrma::test::litmus
