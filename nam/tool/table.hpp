/// Formats text in columns.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace mpixrma::nam {

class Table {
 public:
  explicit Table(std::vector<std::string> titles) { rows_.push_back(std::move(titles)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  void print() const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (auto const& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    for (auto const& row : rows_) {
      for (std::size_t i = 0; i + 1 < row.size(); ++i)
        std::printf("%-*s  ", static_cast<int>(widths[i]), row[i].c_str());
      std::printf("%s\n", row.back().c_str());
    }
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace mpixrma::nam
