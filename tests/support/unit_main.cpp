/// main() of unit tests of several sources in one program. --source=NAME, without .cpp, runs the tests of that
/// source alone; --gtest_filter selects among these.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace mpixrma::test {

namespace {

/// Whether one pattern of a GoogleTest filter matches the name.
bool fits(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*')
    return fits(pattern.substr(1), name) || (!name.empty() && fits(pattern, name.substr(1)));
  if (name.empty() || (pattern.front() != '?' && pattern.front() != name.front())) return false;
  return fits(pattern.substr(1), name.substr(1));
}

bool fits_any(std::string_view patterns, std::string_view name) {
  while (true) {
    std::size_t const end = patterns.find(':');
    if (fits(patterns.substr(0, end), name)) return true;
    if (end == std::string_view::npos) return false;
    patterns.remove_prefix(end + 1);
  }
}

/// Whether a filter of GoogleTest, WANTED:...-UNWANTED:..., selects the test.
bool selects(std::string_view filter, std::string_view name) {
  std::size_t const minus = filter.find('-');
  std::string_view const wanted = filter.substr(0, minus);
  if (!wanted.empty() && !fits_any(wanted, name)) return false;
  return minus == std::string_view::npos || !fits_any(filter.substr(minus + 1), name);
}

std::string_view source_of(::testing::TestInfo const& test) {
  std::string_view file = test.file();
  file.remove_prefix(file.rfind('/') + 1);
  return file.substr(0, file.rfind('.'));
}

/// Selects the tests of a source. Returns their number before --gtest_filter applies.
int select_source(std::string_view source) {
  std::string const before = GTEST_FLAG_GET(filter);
  std::string selected;
  int found = 0;
  auto const& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    ::testing::TestSuite const& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      ::testing::TestInfo const& test = *suite.GetTestInfo(j);
      if (source_of(test) != source) continue;
      ++found;
      std::string const name = std::string(suite.name()) + "." + test.name();
      if (selects(before, name)) selected += (selected.empty() ? "" : ":") + name;
    }
  }
  GTEST_FLAG_SET(filter, selected.empty() ? "-*" : selected);
  return found;
}

}  // namespace

}  // namespace mpixrma::test

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  std::string_view const option = "--source=";
  for (int i = 1; i < argc; ++i) {
    std::string_view const argument = argv[i];
    bool const known = argument.substr(0, option.size()) == option;
    if (known && mpixrma::test::select_source(argument.substr(option.size())) > 0) continue;
    std::fprintf(stderr, known ? "no tests in %s\n" : "unknown argument %s\n", argv[i]);
    return 2;
  }
  return RUN_ALL_TESTS();
}
