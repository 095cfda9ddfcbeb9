#include "nam/tool/commands.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <thread>
#include <utility>

#include "nam/client/client.hpp"
#include "nam/client/follow.hpp"
#include "nam/client/spread_allocation.hpp"
#include "nam/protocol/text.hpp"
#include "nam/protocol/units.hpp"
#include "nam/server/catalog.hpp"
#include "nam/server/catalog_files.hpp"
#include "nam/tool/directory_owner.hpp"
#include "nam/tool/table.hpp"

namespace mpixrma::nam {

void print_json(Json const& json) { std::cout << json.dump(2, ' ', true) << "\n"; }

std::string text_of(Json const& object, char const* name) {
  return printable(field<std::string>(object, name));
}
std::string bytes_of(Json const& object, char const* name) {
  return format_bytes(field<std::uint64_t>(object, name));
}

Json or_dry_run(Arguments const& arguments, Json request) {
  if (!arguments.dry_run) return request;
  request["request"] = request.at("op");
  request["op"] = "dry_run";
  return request;
}

std::uint32_t seconds_of(std::string const& text) {
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  std::int64_t const seconds = parse_seconds(text);
  if (seconds > most)
    throw Error(ErrorCode::bad_request,
                "'" + text + "' is longer than " + std::to_string(most / (24 * 60 * 60)) + "d");
  return static_cast<std::uint32_t>(seconds);
}

namespace {

/// Returns the answer to a request. With --json, prints the answer and returns nothing.
std::optional<Json> ask(Arguments const& arguments, Json const& request) {
  Client client(address_of(arguments));
  Json answer = client.request(request);
  if (!arguments.json) return answer;
  print_json(answer);
  return std::nullopt;
}

std::string count_of(Json const& object, char const* name) {
  return std::to_string(field<std::uint64_t>(object, name));
}

std::string expiry_of(Json const& grant) {
  Json const& left = grant.at("expires_in");
  return left.is_null() ? "never" : format_seconds(std::max(left.get<std::int64_t>(), std::int64_t{0}));
}

/// Returns how the data of clients on other hosts travels.
std::string network_text(Json const& object) {
  return printable(field_or<std::string>(object, "network", "unknown"));
}

void add_expiry(Arguments const& arguments, Json& request) {
  if (!arguments.expires.empty() && arguments.expires != "never")
    request["seconds"] = seconds_of(arguments.expires);
}

void add_user(Arguments const& arguments, Json& request) {
  if (!arguments.user.empty()) request["user"] = arguments.user;
}

std::string state_word(Json const& grant) {
  return printable(
      field_or<std::string>(grant, "state", field<bool>(grant, "ready") ? "ready" : "not ready"));
}

std::string state_of(Json const& grant) {
  std::string const state = state_word(grant);
  if (!grant.contains("deleted_in")) return state;
  return state + ", deleted in " + format_seconds(grant.at("deleted_in").get<std::int64_t>());
}

void print_grant(Json const& grant) {
  std::cout << "grant    " << text_of(grant, "grant") << "\nlocator  " << text_of(grant, "locator")
            << "\nowner    " << text_of(grant, "owner") << "\nsize     " << bytes_of(grant, "bytes")
            << "\nused     " << bytes_of(grant, "used") << "\nstorage  " << text_of(grant, "storage")
            << "\non disk  " << bytes_of(grant, "disk") << "\nnetwork  " << network_text(grant)
            << "\nexpires  " << expiry_of(grant) << "\nstate    " << state_of(grant) << "\nsessions "
            << count_of(grant, "sessions") << "\nprocess  " << count_of(grant, "pid") << "\n";
  std::string const reason = field_or<std::string>(grant, "reason", "");
  if (!reason.empty()) std::cout << "not ready: " << printable(reason) << "\n";
}

void print_windows(Json const& windows) {
  if (windows.empty()) return;
  std::cout << "\n";
  Table table({"SIZE", "RANKS", "OWNER", "MODE", "SURVIVES", "PORT"});
  for (Json const& each : windows) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%03o", field<unsigned>(each, "mode"));
    table.add({bytes_of(each, "bytes"), std::to_string(each.at("sizes").size()), text_of(each, "owner"), mode,
               text_of(each, "durability"), text_of(each, "port")});
  }
  table.print();
}

/// Merges the lists of all pages into one answer: windows come in pages (show() in nam/server/grants.cpp).
Json ask_for_all_pages(Address const& server, Json request) {
  Client client(server);
  Json answer = client.request(request);
  while (field_or<std::uint64_t>(answer, "next", 0) != 0) {
    request["after"] = answer.at("next");
    Json const page = client.request(request);
    for (Json const& window : page.at("window_list")) answer.at("window_list").push_back(window);
    answer["next"] = page.at("next");
  }
  answer.erase("next");
  return answer;
}

enum class OnFailure { end, go_on };

/// As ask(), for each grant of the arguments. A list of answers is printed as a list. With OnFailure::go_on,
/// the first failure is thrown at the end.
std::vector<Json> ask_for_each(Arguments const& arguments, Json request, OnFailure on_failure) {
  std::vector<Json> answers;
  std::optional<Error> failure;
  std::vector<Locator> const grants = grants_of(arguments);
  for (std::size_t i = 0; i < grants.size(); ++i) {
    request["grant"] = grants[i].grant;
    try {
      answers.push_back(
          for_part(i, grants.size(), [&] { return ask_for_all_pages(grants[i].address, request); }));
    } catch (Error const& error) {
      if (grants.size() == 1 || on_failure == OnFailure::end) throw;
      if (!failure) failure = error;
    }
  }
  if (arguments.json) {
    print_json(grants.size() == 1 ? answers.front() : Json(answers));
    answers.clear();
  }
  if (failure) throw *failure;
  return answers;
}

}  // namespace

std::vector<Locator> grants_of(Arguments const& arguments) {
  if (!is_locator(arguments.target)) return {{arguments.target, "", address_of(arguments)}};
  std::vector<Locator> grants = parse_grants(arguments.target);
  if (!arguments.server.empty()) {
    for (Locator& each : grants) each.address = address_of(arguments);
  }
  return grants;
}

Address address_of(Arguments const& arguments) {
  if (!arguments.server.empty()) ::setenv("MPIX_NAM_SERVER", arguments.server.c_str(), 1);
  if (arguments.server.empty() && is_locator(arguments.target))
    return parse_locator(arguments.target).address;
  return server_address();
}

void await_server(Arguments const& arguments) {
  Address const server = address_of(arguments);
  auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(arguments.wait_seconds);
  for (;;) {
    try {
      Client const answers(server);
      return;
    } catch (Error const& error) {
      if (error.code() != ErrorCode::unavailable || std::chrono::steady_clock::now() >= end) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

/// Prints only the locator, for scripts.
void grant(Arguments const& arguments) {
  Json request{{"op", "grant"}, {"bytes", parse_bytes(arguments.size)}};
  if (!arguments.owner.empty()) request["owner"] = arguments.owner;
  add_expiry(arguments, request);
  if (auto const answer = ask(arguments, request)) std::cout << text_of(*answer, "locator") << "\n";
}

/// Continues even if a server is gone, so that the other grants are revoked.
void revoke(Arguments const& arguments) {
  auto const answers = ask_for_each(arguments, or_dry_run(arguments, {{"op", "revoke"}}), OnFailure::go_on);
  if (!arguments.dry_run) return;
  for (Json const& grant : answers)
    std::cout << "would revoke grant " << text_of(grant, "grant") << " of " << text_of(grant, "owner") << ": "
              << bytes_of(grant, "bytes") << ", " << count_of(grant, "persistent") << " persistent windows, "
              << count_of(grant, "names") << " names, " << count_of(grant, "sessions") << " sessions\n";
}

void extend(Arguments const& arguments) {
  Json request{{"op", "extend"}};
  add_expiry(arguments, request);
  for (Json const& answer : ask_for_each(arguments, request, OnFailure::go_on))
    std::cout << "expires  " << expiry_of(answer) << "\n";
}

void repair_grant(Arguments const& arguments) {
  for (Json const& answer :
       ask_for_each(arguments, {{"op", "repair"}, {"new_file", arguments.new_file}}, OnFailure::go_on)) {
    std::string const reason = text_of(answer, "reason");
    if (!reason.empty()) throw Error(ErrorCode::unavailable, reason);
  }
}

void list(Arguments const& arguments) {
  auto const answer = ask(arguments, {{"op", "list"}});
  if (!answer) return;
  Table table({"GRANT", "OWNER", "SIZE", "USED", "DISK", "WINDOWS", "SESSIONS", "STORAGE", "NETWORK",
               "EXPIRES", "STATE"});
  for (Json const& each : answer->at("grants"))
    table.add({text_of(each, "grant"), text_of(each, "owner"), bytes_of(each, "bytes"),
               bytes_of(each, "used"), bytes_of(each, "disk"), count_of(each, "windows"),
               count_of(each, "sessions"), text_of(each, "storage"), network_text(each), expiry_of(each),
               state_word(each)});
  table.print();
}

void show(Arguments const& arguments) {
  char const* between = "";
  for (Json const& answer : ask_for_each(arguments, {{"op", "show"}}, OnFailure::end)) {
    std::cout << std::exchange(between, "\n");
    print_grant(answer);
    print_windows(answer.at("window_list"));
  }
}

/// Lists the user's own names, with --user those of another user, with --all those of all users.
void names(Arguments const& arguments) {
  Client client(address_of(arguments));
  Json request{{"op", "names"}, {"all", arguments.all}};
  add_user(arguments, request);
  Json found = Json::array();
  for (bool more = true; more;) {
    Json const page = client.request(request);
    for (Json const& each : page.at("names")) found.push_back(each);
    more = field_or(page, "more", false) && !found.empty();
    if (!more) break;
    request["after"] = found.back().at("name");
    request["after_owner"] = found.back().at("uid");
  }
  if (arguments.json) return print_json({{"names", found}});
  Table table({"NAME", "OWNER", "PORT"});
  for (Json const& each : found)
    table.add({text_of(each, "name"), text_of(each, "owner"), text_of(each, "port")});
  table.print();
}

void publish(Arguments const& arguments) {
  (void)ask(arguments, {{"op", "publish"}, {"name", arguments.target}, {"port", arguments.port}});
}

void lookup(Arguments const& arguments) {
  Json request{{"op", "lookup"}, {"name", arguments.target}};
  add_user(arguments, request);
  Address const server = address_of(arguments);
  Client client(server);
  Json const answer = client.request(request);
  check_own_port(client, server, field<std::string>(answer, "port"));
  if (arguments.json) return print_json(answer);
  std::cout << text_of(answer, "port") << "\n";
}

void unpublish(Arguments const& arguments) {
  Json request{{"op", "unpublish"}, {"name", arguments.target}};
  add_user(arguments, request);
  auto const answer = ask(arguments, or_dry_run(arguments, request));
  if (answer && arguments.dry_run)
    std::cout << "would unpublish " << text_of(*answer, "name") << " of " << text_of(*answer, "owner")
              << "\n";
}

void chmod(Arguments const& arguments) {
  Json const changed = ask_for_parts(address_of(arguments), arguments.target,
                                     {{"op", "chmod"}, {"mode", parse_mode(arguments.mode)}})
                           .first;
  if (arguments.json) print_json(changed);
}

void usage(Arguments const& arguments) {
  auto const answer = ask(arguments, {{"op", "usage"}});
  if (!answer) return;
  std::cout << "capacity  " << bytes_of(*answer, "capacity") << "\ngranted   " << bytes_of(*answer, "granted")
            << "\nending    " << bytes_of(*answer, "ending") << "\non disk   " << bytes_of(*answer, "disk")
            << "\nused      " << bytes_of(*answer, "used") << "\ngrants    " << count_of(*answer, "grants")
            << "\nsessions  " << count_of(*answer, "sessions") << "\nnetwork   " << network_text(*answer)
            << "\n";
  if (answer->at("users").empty()) return;
  std::cout << "\n";
  Table table({"USER", "GRANTED"});
  for (auto const& [user, bytes] : answer->at("users").items())
    table.add({printable(user), format_bytes(bytes.get<std::uint64_t>())});
  table.print();
}

namespace {

void repair(std::filesystem::path const& file) {
  RepairReport const report = repair_catalog(file);
  if (!report.was_damaged) return;
  for (std::string const& lost : report.lost) std::cout << "lost: " << printable(lost) << "\n";
  std::cout << "the damaged catalog is kept as " << report.backup_path.string() << "\n";
}

}  // namespace

/// Does not read or repair the catalog of a running server.
void check(Arguments const& arguments) {
  std::filesystem::path const directory = act_as_owner_of(arguments.directory);
  std::filesystem::path const file = directory / "catalog.sqlite";
  std::error_code error;
  if (!std::filesystem::exists(file, error))
    throw Error(error ? ErrorCode::denied : ErrorCode::not_found,
                error ? file.string() + ": " + error.message() : "there is no catalog " + file.string());
  FileDescriptor const lock = lock_directory(directory);
  if (arguments.repair && !arguments.dry_run) repair(file);
  std::vector<std::string> const problems = check_catalog(file);
  for (std::string const& problem : problems) std::cout << printable(problem) << "\n";
  if (!problems.empty())
    throw Error(ErrorCode::internal, std::to_string(problems.size()) + " problems in " + file.string());
  std::cout << "the catalog is in order\n";
}

}  // namespace mpixrma::nam
