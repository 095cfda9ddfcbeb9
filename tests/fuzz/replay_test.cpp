/// The corpus of the fuzzers, and random mutations of it, without libFuzzer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/targets.hpp"
#include "tests/support/random_layout.hpp"

namespace mpixrma::fuzz {
namespace {

struct Sample {
  std::string name;
  std::vector<std::byte> bytes;
};

std::vector<Sample> corpus_of(Target const& target) {
  std::vector<Sample> samples;
  for (auto const& entry :
       std::filesystem::directory_iterator(std::string(MPIX_CORPUS) + '/' + target.name)) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::string const content{std::istreambuf_iterator<char>(file), {}};
    auto const* const begin = reinterpret_cast<std::byte const*>(content.data());
    samples.push_back({entry.path().filename(), {begin, begin + content.size()}});
  }
  return samples;
}

class Replay : public ::testing::TestWithParam<Target> {};

INSTANTIATE_TEST_SUITE_P(Targets, Replay, ::testing::ValuesIn(targets),
                         [](auto const& instance) { return std::string(instance.param.name); });

TEST_P(Replay, AcceptsSoundAndRefusesOtherInputs) {
  auto const samples = corpus_of(GetParam());
  ASSERT_FALSE(samples.empty());
  for (Sample const& sample : samples) {
    SCOPED_TRACE(sample.name);
    // Sound inputs are well-formed; what they ask for may be impossible.
    EXPECT_EQ(GetParam().run(sample.bytes), sample.name.starts_with("sound"));
  }
}

TEST_P(Replay, MutationsAreSurvived) {
  constexpr int rounds = 10000;
  std::mt19937_64 random(test::seed());
  auto const samples = corpus_of(GetParam());
  ASSERT_FALSE(samples.empty());
  int taken = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::byte> bytes = samples[random() % samples.size()].bytes;
    for (auto changes = 1 + random() % 4; changes != 0 && !bytes.empty(); --changes) {
      std::size_t const at = random() % bytes.size();
      switch (random() % 4) {
        case 0: bytes[at] = static_cast<std::byte>(random()); break;
        case 1: bytes[at] ^= std::byte{1} << random() % 8; break;
        case 2: bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at)); break;
        default: bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), std::byte{0xff}); break;
      }
    }
    taken += GetParam().run(bytes) ? 1 : 0;
  }
  EXPECT_GT(taken, rounds / 100) << "the corpus is out of date: nearly nothing passes the first checks";
}

}  // namespace
}  // namespace mpixrma::fuzz
