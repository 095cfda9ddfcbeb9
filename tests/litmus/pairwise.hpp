/// Combinations of settings in which every pair of values of any two dimensions occurs.
#pragma once

#include <cstddef>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace mpixrma::test::litmus {

/// Each combination has a value below sizes[d] for each dimension d. `seed` selects among the covers.
inline std::vector<std::vector<unsigned>> pairwise(std::vector<unsigned> const& sizes, unsigned seed) {
  using Pair = std::tuple<std::size_t, unsigned, std::size_t, unsigned>;
  std::set<Pair> missing;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    for (std::size_t e = d + 1; e < sizes.size(); ++e) {
      for (unsigned v = 0; v < sizes[d]; ++v) {
        for (unsigned w = 0; w < sizes[e]; ++w) missing.emplace(d, v, e, w);
      }
    }
  }
  std::mt19937 random(seed);
  auto const pairs_of = [&](std::vector<unsigned> const& chosen) {
    std::vector<Pair> pairs;
    for (std::size_t d = 0; d < chosen.size(); ++d) {
      for (std::size_t e = d + 1; e < chosen.size(); ++e) pairs.emplace_back(d, chosen[d], e, chosen[e]);
    }
    return pairs;
  };
  std::vector<std::vector<unsigned>> cover;
  constexpr int candidates = 30;
  while (!missing.empty()) {
    std::vector<unsigned> best;
    std::size_t most = 0;
    for (int candidate = 0; candidate < candidates; ++candidate) {
      std::vector<unsigned> chosen;
      for (unsigned const size : sizes) chosen.push_back(static_cast<unsigned>(random() % size));
      // Starts with one missing pair, so that each combination covers something.
      auto const [d, v, e, w] = *missing.begin();
      chosen[d] = v;
      chosen[e] = w;
      std::size_t covered = 0;
      for (Pair const& pair : pairs_of(chosen)) covered += missing.count(pair);
      if (covered > most) {
        most = covered;
        best = chosen;
      }
    }
    for (Pair const& pair : pairs_of(best)) missing.erase(pair);
    cover.push_back(std::move(best));
  }
  return cover;
}

}  // namespace mpixrma::test::litmus
