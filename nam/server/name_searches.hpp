/// Searches for pages of names, a step at a time.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "nam/process/event_loop.hpp"
#include "nam/server/catalog.hpp"
#include "nam/server/clients.hpp"
#include "nam/server/request.hpp"

namespace mpixrma::nam {

/// The state of a search for a page of names.
struct NameSearch {
  ClientId client = 0;
  std::optional<uid_t> owner;  ///< the owner of the names; nothing: all users
  NameKey after;
  std::optional<uid_t> named_owner;  ///< the user with `owner_name`
  std::string owner_name;
  Json found = Json::array();
};

/// Makes one step of one search at a time, so that others are served in between, however many names there are
/// that the searching user may not see. Users take turns, whatever number of searches each of them has.
class NameSearches {
 public:
  /// The result of a step: the search goes on, has a full page, or has found all names.
  enum class Step { some, page, all };
  /// Continues a search with some names.
  using Continue = std::function<Step(NameSearch&)>;

  NameSearches(EventLoop& loop, Clients& clients, Continue search)
      : loop_(loop), clients_(clients), search_(std::move(search)) {}
  NameSearches(NameSearches const&) = delete;
  NameSearches& operator=(NameSearches const&) = delete;

  /// Answers the client, which is paused, with the page.
  void add(NameSearch search);

 private:
  void take_turn();
  bool answer(NameSearch& search);

  EventLoop& loop_;
  Clients& clients_;
  Continue search_;
  std::map<uid_t, std::deque<NameSearch>> searches_;  ///< of each user; none is empty
  uid_t last_searcher_ = 0;                           ///< the user who had the last turn
  int timer_ = -1;
};

}  // namespace mpixrma::nam
