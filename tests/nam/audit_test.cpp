/// Lines of the audit log, and how many of them a user may cause. No server runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "nam/process/token_buckets.hpp"
#include "nam/protocol/text.hpp"
#include "nam/protocol/user_secret.hpp"
#include "nam/server/audit.hpp"

namespace mpixrma::nam {
namespace {

class Audit : public ::testing::Test {
 protected:
  ~Audit() override { std::filesystem::remove(file); }
  std::vector<std::string> lines_with(std::string const& text) const {
    std::ifstream stream(file);
    std::vector<std::string> found;
    for (std::string line; std::getline(stream, line);) {
      if (line.find(text) != std::string::npos) found.push_back(line);
    }
    return found;
  }
  /// Returns the number of acts in lines with `text`, plus the acts that these lines report as omitted. A
  /// line with result=omitted only reports omitted acts, and counts as no act itself.
  std::uint64_t count_acts(std::string const& text) const {
    std::uint64_t acts = 0;
    for (std::string const& line : lines_with(text)) {
      if (line.find("result=omitted") == std::string::npos) ++acts;
      std::size_t const at = line.find(" omitted=");
      if (at != std::string::npos) acts += std::stoull(line.substr(at + 9));
    }
    return acts;
  }

  std::string const file = std::filesystem::temp_directory_path() / ("audit-" + random_identifier());
  AuditLog log{file};
};

TEST_F(Audit, ActsOfOneUserDoNotHideActsOfAnother) {
  std::string const reason(100000, 'x');
  for (int i = 0; i < 5000; ++i) log.record({"eve", "pid 1", "evict", "window", "denied", reason});
  log.record({"bob", "pid 2", "evict", "window", "denied", "no"});
  EXPECT_EQ(lines_with("user=\"bob\"").size(), 1u);
  EXPECT_LT(lines_with("user=\"eve\"").size(), 1000u);
  while (count_acts("user=\"eve\"") < 5000) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    log.report_omitted();
  }
  EXPECT_EQ(count_acts("user=\"eve\""), 5000u);
  EXPECT_EQ(count_acts("user=\"bob\""), 1u);
}

/// A host may have the addresses of a whole network.
TEST_F(Audit, LinesOfManyHostsAreBoundedAndUsersKeepTheirs) {
  std::string const name(1000, '\x01');
  constexpr unsigned hosts = 5000;
  for (unsigned i = 0; i < hosts; ++i) {
    std::string const from = "10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250) + ":1";
    log.record({"", from, "connect", name, "denied", name});
  }
  log.record({"bob", "pid 2", "evict", "window", "denied", "no"});
  EXPECT_EQ(lines_with("user=\"bob\"").size(), 1u);
  EXPECT_LT(lines_with("from=\"10.1.").size(), 1500u);
  for (std::string const& line : lines_with("from=\"10.1.")) ASSERT_LT(line.size(), 1000u);
  while (count_acts("connect") + count_acts("result=omitted") < hosts) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    log.report_omitted();
  }
}

/// The second record stands for acts of which a data process has sent only the number.
TEST_F(Audit, ActsDroppedElsewhereAreCounted) {
  log.record({"eve", "session of grant 1", "write", "window", "denied", "no", 7});
  log.record({"eve", "session of grant 1", "", "", AuditLog::omitted_acts, "", 5});
  EXPECT_EQ(count_acts("user=\"eve\""), 13u);
  EXPECT_EQ(lines_with("result=omitted omitted=5").size(), 1u);
}

TEST_F(Audit, ActsDroppedElsewhereAreCountedWithDroppedLines) {
  for (int i = 0; i < 200; ++i)
    log.record({"eve", "session of grant 1", "write", "window", "denied", "no", 7});
  for (int waited = 0; waited < 1000 && count_acts("user=\"eve\"") < 1600; ++waited) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    log.report_omitted();
  }
  EXPECT_LT(lines_with("request=\"write\"").size(), 200u);
  EXPECT_EQ(count_acts("user=\"eve\""), 1600u);
}

TEST_F(Audit, AuthenticatedUsersDoNotCountAsHosts) {
  constexpr std::size_t hosts = 5000;
  for (std::size_t i = 0; i < hosts; ++i)
    log.record({"", "host" + std::to_string(i) + ":1000", "prove", "", "denied", "no"});
  log.record({"bob", "10.1.0.6:40000", "evict", "window", "denied", "no"});
  EXPECT_LT(lines_with("request=\"prove\"").size(), hosts) << "otherwise the hosts have lines left";
  auto const lines = lines_with("user=\"bob\"");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].find("omitted="), std::string::npos) << "the acts of hosts are not the user's";
}

TEST_F(Audit, AddressesOfIpv6NetworkCountAsOneHost) {
  auto const deny_from = [this](std::string const& host) {
    log.record({"", host + ":1000", "prove", "", "denied", "no"});
  };
  for (int i = 0; i < 5000; ++i) deny_from("[2001:db8::" + std::to_string(i) + "]");
  deny_from("[2001:db8:0:1::1]");
  deny_from("10.1.0.6");
  EXPECT_LT(lines_with("from=\"[2001:db8::").size(), 1000u);
  EXPECT_EQ(lines_with("from=\"[2001:db8:0:1::1]:1000\"").size(), 1u);
  EXPECT_EQ(lines_with("from=\"10.1.0.6:1000\"").size(), 1u);
  while (count_acts("from=\"2001:db8::\"") == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    log.report_omitted();
  }
}

TEST_F(Audit, FieldsAreBounded) {
  std::string const field = std::string(299, 'x') + "\u00e4" + std::string(100000, 'x');
  log.record({"eve", "pid 1", field, field, "denied", field});
  auto const lines = lines_with("user=\"eve\"");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_LT(lines[0].size(), 1200u);
  EXPECT_NE(lines[0].find("object=\"" + std::string(299, 'x') + "...\""), std::string::npos);
}

/// A text and the literal form of its escape sequence give different lines.
TEST_F(Audit, FieldsAreUnambiguous) {
  std::vector<std::string> const fields{
      "a\nb", "a\\x0ab", "a\\\\x0ab", "a\" result=done", "a\\\" result=done", "a\\"};
  std::vector<std::string> shown;
  for (std::string const& field : fields) log.record({"eve", "pid 1", "lookup", field, "denied"});
  for (std::string const& line : lines_with("user=\"eve\""))
    shown.push_back(line.substr(line.find("object=")));
  ASSERT_EQ(shown.size(), fields.size());
  EXPECT_EQ(shown[0], R"(object="a\x0ab" result=denied)");
  EXPECT_EQ(shown[1], R"(object="a\\x0ab" result=denied)");
  EXPECT_EQ(shown[3], R"(object="a\" result=done" result=denied)");
  EXPECT_EQ(shown[5], R"(object="a\\" result=denied)");
  std::sort(shown.begin(), shown.end());
  EXPECT_EQ(std::adjacent_find(shown.begin(), shown.end()), shown.end());
}

TEST(BudgetsTest, ArePerSourceAndCountRefusals) {
  TokenBuckets budgets(10, 2);
  auto const start = TokenBuckets::Clock::now();
  EXPECT_EQ(budgets.take("a", start), 0u);
  EXPECT_EQ(budgets.take("a", start), 0u);
  EXPECT_EQ(budgets.take("a", start), std::nullopt);
  EXPECT_EQ(budgets.take("a", start, 5), std::nullopt);
  EXPECT_EQ(budgets.take("b", start), 0u);
  EXPECT_TRUE(budgets.take_refused(start).empty());
  auto const later = start + std::chrono::milliseconds(150);
  auto const refused = budgets.take_refused(later);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].source, "a");
  EXPECT_EQ(refused[0].count, 6u);
  EXPECT_EQ(budgets.take("a", later), std::nullopt);
  EXPECT_EQ(budgets.take("a", start + std::chrono::seconds(10)), 1u);
  EXPECT_EQ(budgets.take("a", start + std::chrono::seconds(10)), 0u);
  EXPECT_EQ(budgets.take("a", start + std::chrono::seconds(10)), std::nullopt);
}

TEST(BudgetsTest, BoundNumberOfSources) {
  TokenBuckets budgets(1, 1);
  auto const start = TokenBuckets::Clock::now();
  EXPECT_EQ(budgets.take("first", start), 0u);
  EXPECT_EQ(budgets.take("first", start), std::nullopt);
  std::uint64_t given = 0;
  for (int i = 0; i < 5000; ++i) given += budgets.take(std::to_string(i), start) ? 1 : 0;
  EXPECT_LT(given, 1100u);
  EXPECT_EQ(budgets.take("first", start + std::chrono::seconds(1)), 1u);
}

TEST(Text, ShortenedTextsEndWithCompleteCharacter) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 3), "abc...");
  EXPECT_EQ(shortened("ab\u00e4d", 3), "ab...");
  EXPECT_EQ(shortened("\x80\x80\x80\x80", 3), "...");
}

}  // namespace
}  // namespace mpixrma::nam
