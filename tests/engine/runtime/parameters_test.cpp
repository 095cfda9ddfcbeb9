/// The table of parameters, the configuration that it sets, and the table of docs/debugging.md.
#include "engine/runtime/parameters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>
#include <sstream>
#include <string>

#include "engine/runtime/mpix_engine.h"

namespace {

std::span<mpix_engine_parameter const> table() {
  std::size_t count = 0;
  mpix_engine_parameter const* const parameters = mpix_engine_parameters(&count);
  return {parameters, count};
}

mpix_engine_parameter const& named(std::string const& name) {
  auto const found = std::ranges::find_if(table(), [&](auto const& one) { return one.name == name; });
  EXPECT_NE(found, table().end()) << name;
  return *found;
}

struct Outcome {
  int status;
  std::string why;
  mpix_engine_config config;
};

Outcome set(std::string const& name, char const* text) {
  Outcome outcome{};
  mpix_engine_config_init(&outcome.config);
  char why[256] = "";
  outcome.status = mpix_engine_set_text(&outcome.config, &named(name), text, why, sizeof why);
  outcome.why = why;
  return outcome;
}

bool is_number(mpix_engine_parameter const& parameter) {
  return parameter.kind != MPIX_ENGINE_PARAMETER_WORDS;
}

TEST(Parameters, DefaultsMatchConfiguration) {
  for (mpix_engine_parameter const& parameter : table()) {
    if (!is_number(parameter)) continue;
    mpix_engine_config expected;
    mpix_engine_config config;
    mpix_engine_config_init(&expected);
    mpix_engine_config_init(&config);
    char why[256] = "";
    EXPECT_EQ(mpix_engine_set_number(&config, &parameter, static_cast<std::int64_t>(parameter.initial), why,
                                     sizeof why),
              0)
        << why;
    EXPECT_EQ(std::memcmp(&config, &expected, sizeof config), 0) << parameter.name;
  }
}

TEST(Parameters, AcceptsBoundsAndRefusesValuesBeyond) {
  for (mpix_engine_parameter const& parameter : table()) {
    if (!is_number(parameter)) continue;
    auto const text = [](std::uint64_t value, std::int64_t more) {
      return std::to_string(static_cast<std::int64_t>(value) + more);
    };
    EXPECT_EQ(set(parameter.name, text(parameter.minimum, 0).c_str()).status, 0) << parameter.name;
    EXPECT_EQ(set(parameter.name, text(parameter.maximum, 0).c_str()).status, 0) << parameter.name;
    EXPECT_NE(set(parameter.name, text(parameter.maximum, 1).c_str()).status, 0) << parameter.name;
    EXPECT_NE(set(parameter.name, "-1").status, 0) << parameter.name;
    EXPECT_NE(set(parameter.name, "12x").status, 0) << parameter.name;
    bool const zero = parameter.minimum == 0 || parameter.permits_zero != 0;
    EXPECT_EQ(set(parameter.name, "0").status == 0, zero) << parameter.name;
    if (parameter.minimum > 1) {
      EXPECT_NE(set(parameter.name, text(parameter.minimum, -1).c_str()).status, 0) << parameter.name;
    }
  }
}

TEST(Parameters, ZeroStandsForNever) {
  EXPECT_EQ(set("batch_size", "0").config.batch_bytes, MPIX_ENGINE_NO_BATCHES);
  EXPECT_EQ(set("idle_memory", "0").config.idle_memory_bytes, MPIX_ENGINE_KEEP_NOTHING);
  EXPECT_EQ(set("agent_linger_us", "0").config.agent_linger_us, -1);
  EXPECT_EQ(set("ring_us", "0").config.ring_us, -1);
  EXPECT_EQ(set("channels", "0").config.channels, 0);
}

TEST(Parameters, RefusalNamesParameterValueAndRange) {
  EXPECT_EQ(set("batch_size", "512").why, "batch_size is 512 bytes; expected 1024 to 1048576, or 0");
  EXPECT_EQ(set("channels", "17").why, "channels is 17; expected 0 to 16");
  EXPECT_EQ(set("path", "direct,far").why,
            "path has \"far\", which is none of direct, cross_memory, network, ring, message, auto");
  EXPECT_EQ(set("network", "maybe").why, "network is \"maybe\"; expected auto, warn, never or emulated");
}

TEST(Parameters, WordsSetPaths) {
  EXPECT_EQ(set("path", "direct,message").config.protocols,
            static_cast<unsigned>(MPIX_ENGINE_PROTOCOL_DIRECT | MPIX_ENGINE_PROTOCOL_MESSAGE));
  EXPECT_EQ(set("path", "cross_memory,ring").config.protocols,
            static_cast<unsigned>(MPIX_ENGINE_PROTOCOL_CROSS_MEMORY | MPIX_ENGINE_PROTOCOL_RING));
  EXPECT_EQ(set("path", "ring").config.protocols, static_cast<unsigned>(MPIX_ENGINE_PROTOCOL_RING));
  EXPECT_EQ(set("path", "auto").config.protocols, static_cast<unsigned>(MPIX_ENGINE_PROTOCOL_ALL));
  EXPECT_EQ(set("network", "never").config.protocols & MPIX_ENGINE_PROTOCOL_NETWORK, 0U);
  EXPECT_EQ(set("network", "warn").config.network_without_hardware, 0);
  EXPECT_EQ(set("network", "warn").config.network_hardware_expected, 1);
  EXPECT_EQ(set("network", "emulated").config.network_without_hardware, 1);
  EXPECT_STREQ(set("agent_cores", "0,2-3").config.agent_cores, "0,2-3");
  EXPECT_STREQ(set("trace", "/tmp/trace").config.trace, "/tmp/trace");
  EXPECT_EQ(set("trace", "none").config.trace, nullptr);
}

TEST(Parameters, WordsSetMethodsOfCopies) {
  EXPECT_STREQ(set("copy", "library,2k.close=vector").config.copy_methods, "library,2k.close=vector");
  Outcome const wrong = set("copy", "library,3k=vector");
  EXPECT_NE(wrong.status, 0);
  EXPECT_NE(wrong.why.find("copy has \"3k=vector\""), std::string::npos) << wrong.why;
}

TEST(Parameters, FormerValuesAreAcceptedWithTheNewName) {
  Outcome const agent = set("path", "agent");
  EXPECT_EQ(agent.status, 0);
  EXPECT_EQ(agent.config.protocols, static_cast<unsigned>(MPIX_ENGINE_PROTOCOL_MESSAGE));
  EXPECT_EQ(agent.why, "path has \"agent\", whose name is now \"ring,message\"");
  EXPECT_EQ(set("path", "agent,direct").config.protocols,
            static_cast<unsigned>(MPIX_ENGINE_PROTOCOL_DIRECT | MPIX_ENGINE_PROTOCOL_RING |
                                  MPIX_ENGINE_PROTOCOL_MESSAGE));
  Outcome const rdma = set("path", "direct,rdma");
  EXPECT_EQ(rdma.config.protocols,
            static_cast<unsigned>(MPIX_ENGINE_PROTOCOL_DIRECT | MPIX_ENGINE_PROTOCOL_NETWORK));
  EXPECT_EQ(rdma.why, "path has \"rdma\", whose name is now \"network\"");
  EXPECT_EQ(set("path", "direct,message").why, "");
  EXPECT_NE(set("path", "agent,far").status, 0);
}

TEST(Parameters, FormerNamesMatchPreviousRelease) {
  EXPECT_STREQ(mpix_engine_former_name(&named("network")), "rdma");
  EXPECT_STREQ(mpix_engine_former_name(&named("ring_us")), "mailbox_us");
  EXPECT_STREQ(mpix_engine_former_name(&named("credit")), "window_size");
  EXPECT_EQ(mpix_engine_former_name(&named("path")), nullptr);
}

TEST(Parameters, RefusesInconsistentPairs) {
  mpix_engine_config config;
  mpix_engine_config_init(&config);
  char why[256] = "";
  EXPECT_EQ(mpix_engine_check_config(&config, why, sizeof why), 0);
  config.credit_bytes = config.fragment_bytes - 1;
  EXPECT_NE(mpix_engine_check_config(&config, why, sizeof why), 0);
  EXPECT_NE(std::string(why).find("at least fragment_size"), std::string::npos) << why;
}

// Compares with the document.

std::string range_of(mpix_engine_parameter const& parameter) {
  if (!is_number(parameter)) return "";
  bool const from_zero = parameter.permits_zero != 0 && parameter.minimum <= 1;
  bool const or_zero = parameter.permits_zero != 0 && !from_zero;
  return (or_zero ? "0, " : "") + std::to_string(from_zero ? 0 : parameter.minimum) + " to " +
         std::to_string(parameter.maximum);
}

std::string default_of(mpix_engine_parameter const& parameter) {
  if (!is_number(parameter)) return std::string("`") + parameter.initial_words + "`";
  bool const varies = std::string_view(parameter.name) == "check";  // depends on the build
  return std::to_string(varies ? 0 : parameter.initial);
}

std::string made_table() {
  std::ostringstream rows;
  rows << "| name | default | range | unit | meaning |\n| --- | --- | --- | --- | --- |\n";
  for (mpix_engine_parameter const& parameter : table())
    rows << "| `" << parameter.name << "` | " << default_of(parameter) << " | " << range_of(parameter)
         << " | " << parameter.unit << " | " << parameter.help << " |\n";
  return rows.str();
}

TEST(Parameters, DocumentHasTheTable) {
  std::string const path = MPIX_SOURCE_DIR "/docs/debugging.md";
  std::stringstream whole;
  whole << std::ifstream(path).rdbuf();
  std::string text = whole.str();
  std::string const first = "<!-- parameters -->\n";
  auto const begin = text.find(first) + first.size();
  auto const end = text.find("<!-- end of parameters -->");
  ASSERT_LE(begin, end);
  if (std::getenv("MPIX_WRITE_DOCUMENT") != nullptr) {
    text.replace(begin, end - begin, made_table());
    std::ofstream(path) << text;
  } else {
    EXPECT_EQ(text.substr(begin, end - begin), made_table())
        << "MPIX_WRITE_DOCUMENT=1 lets this test write the table";
  }
}

}  // namespace
