/// Tasks of users that take turns: a user with many tasks delays a task of another user by one task, not by
/// all of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mpixrma::nam {

class Turns {
 public:
  using Task = std::function<void()>;

  /// Tasks of one user keep their order. `user` is any name that tells users apart.
  void add(std::string const& user, Task task) { of_user_[user].push_back(std::move(task)); }
  bool empty() const noexcept { return of_user_.empty(); }

  /// Removes and returns one task of each user, of `most` users at a time.
  std::vector<Task> next_round(std::size_t most) {
    std::vector<Task> round;
    std::size_t const users = std::min(of_user_.size(), most);
    while (round.size() < users) {
      auto next = of_user_.upper_bound(last_);
      if (next == of_user_.end()) next = of_user_.begin();
      last_ = next->first;
      round.push_back(std::move(next->second.front()));
      next->second.pop_front();
      if (next->second.empty()) of_user_.erase(next);
    }
    return round;
  }

 private:
  std::map<std::string, std::deque<Task>> of_user_;  ///< none is empty
  std::string last_;                                 ///< the user who had the last turn
};

}  // namespace mpixrma::nam
