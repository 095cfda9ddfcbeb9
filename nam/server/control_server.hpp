/// The control process: knows the users, keeps grants, windows and names in the catalog, and admits sessions
/// to the data processes. No byte of a window passes through it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "nam/data/shares.hpp"
#include "nam/process/admission.hpp"
#include "nam/process/connection.hpp"
#include "nam/process/identity.hpp"
#include "nam/process/subordinate_users.hpp"
#include "nam/protocol/handshake.hpp"
#include "nam/protocol/locator.hpp"
#include "nam/server/audit.hpp"
#include "nam/server/calendar.hpp"
#include "nam/server/catalog.hpp"
#include "nam/server/data_link.hpp"
#include "nam/server/grant_file.hpp"
#include "nam/server/options.hpp"
#include "nam/server/retry.hpp"
#include "nam/server/server_keys.hpp"
#include "nam/server/spawner_link.hpp"
#include "nam/server/user_secrets.hpp"

namespace mpixrma::nam {

class ControlServer {
 public:
  /// `reread` returns the present options, or nothing if they are wrong. Throws Error.
  ControlServer(Options options, std::function<std::optional<Options>()> reread, SpawnerLink& spawner);

  /// Runs until it is requested to end. Returns the exit code.
  int run();

 private:
  using ClientId = std::uint64_t;
  struct Client {
    Admission::Place place;  ///< given back after the connection has gone
    std::unique_ptr<Connection> connection;
    Retry::Clock::time_point admitted_at;
    bool is_local = false;
    std::optional<Identity> identity;      ///< once it is known
    std::optional<Transcript> transcript;  ///< over TCP, until the user is known
    std::string from;                      ///< as of describe_peer()
    bool has_version = false;              ///< its first request was this version's
  };
  struct Live {
    Grant grant;
    std::unique_ptr<DataLink> link;
    std::optional<GrantFile> file;  ///< where the storage is one
    ClientId asked_by = 0;          ///< waits for the answer that it is ready
    bool is_unwanted = false;       ///< could not be made ready for its first user
    GracePeriod grace;
    Retry deletion;
  };
  using Handler = Json (ControlServer::*)(ClientId, Json const&);

  // clients.cpp: connections and the identity of their peers.
  void take_connections(FileDescriptor const& listener);
  void admit(FileDescriptor socket);
  Standing standing_of(uid_t uid) const;
  void authenticate(ClientId id, Identity identity);
  KeptBytes::Account account_of(Identity const& identity);
  void close_after_answer(ClientId id);
  void give_way(ClientId id);
  void give_way_in_queue(ClientId id);
  void end_unauthenticated();
  void end_former_admins();
  std::size_t max_connections() const;
  void on_request(ClientId id, Message& message);
  Json answer_to(ClientId id, std::string const& op, Json const& request);
  /// An answer about an object that is absent, or hidden from the user.
  struct Refusal {
    ClientId client;
    Retry::Clock::time_point due;
    Error error;
    bool is_quiet;
  };
  void answer_paused(ClientId id, Json const& answer);
  void refuse_later(Refusal refusal);
  void send_refusals();
  Json hello(ClientId id, Json const& request);
  Json begin_session(ClientId id, Json const& request);
  Json prove(ClientId id, Json const& request);
  Json own_secret(ClientId id, Json const& request);
  bool is_admin(uid_t uid) const;
  std::vector<uid_t> admins() const;

  // control_server.cpp
  void open_listeners();
  void add_listener(FileDescriptor listener);
  Json rotate_key(ClientId id, Json const& request);
  void on_signal(int signal);
  void reread_options();
  void end();
  void drop_ended();
  void log_of_grant(Grant const& grant, std::string const& text);
  void log_omitted_lines();
  void tick();

  // acts.cpp
  void record(ClientId id, std::string const& op, Json const& request, std::string_view result,
              std::string_view reason);
  void audit_request(ClientId id, std::string const& op, Json const& request, Error const* error);
  void record_own(std::string_view what);
  Json dry_run(ClientId id, Json const& request);

  // grants.cpp
  Json grant(ClientId id, Json const& request);
  Json revoke(ClientId id, Json const& request);
  Json extend(ClientId id, Json const& request);
  Json list(ClientId id, Json const& request);
  Json show(ClientId id, Json const& request);
  Json usage(ClientId id, Json const& request);
  Json repair(ClientId id, Json const& request);
  struct Revocation {
    DataLink const* link;  ///< in `ending_`
    ClientId client;       ///< waits for its end
    std::string grant;
  };
  void answer_revocations();
  struct Committed {
    std::uint64_t bytes = 0;
    std::uint64_t bytes_of_user = 0;
    std::size_t grants_of_user = 0;
  };
  Committed committed(uid_t owner) const;
  void check_extension(Identity const& who, Grant const& grant) const;
  void check_capacity(Identity const& who, Grant const& grant) const;
  void start(Grant const& grant, ClientId asked_by);
  void end_grant(std::string const& id);
  void on_grant_ready(std::string const& id);
  void on_grant_failed(std::string const& id, Error const& error);
  Live& grant_for(ClientId id, Json const& request);
  Json describe(Live const& live) const;
  Json setup_of(Grant const& grant) const;
  void end_expired();
  void note_expiry(Live& live);
  char const* state_of(Live const& live) const;
  void delete_grant(std::string const& id);
  void remove_lost_windows();

  // windows.cpp: sessions and windows.
  Json open(ClientId id, Json const& request);
  Json connect(ClientId id, Json const& request);
  Json evict(ClientId id, Json const& request);
  Json chmod(ClientId id, Json const& request);
  void hand_over(ClientId id, Live& live, Json const& request);
  bool is_visible(ClientId id, Catalog::Found const& found) const;
  std::optional<Catalog::Found> visible_window(ClientId id, std::string const& port);
  std::string keep_window(std::string const& grant, Json const& window);
  Json windows_of(std::string const& grant, std::uint64_t after);
  std::string port_of_window(std::string const& grant, std::string const& window) const;

  // names.cpp
  /// The state of a search for a page of names.
  struct NameSearch {
    ClientId client = 0;
    std::optional<uid_t> owner;  ///< the owner of the names; nothing: all users
    NameKey after;
    std::optional<uid_t> named_owner;  ///< the user with `owner_name`
    std::string owner_name;
    Json found = Json::array();
  };
  Json names(ClientId id, Json const& request);
  Json publish(ClientId id, Json const& request);
  Json lookup(ClientId id, Json const& request);
  Json unpublish(ClientId id, Json const& request);
  std::optional<uid_t> name_owner(ClientId id, Json const& request) const;
  Catalog::FoundName visible_name(ClientId id, Json const& request);
  enum class SearchResult { some, page, all };
  bool continue_search(NameSearch& search);
  SearchResult search_names(NameSearch& search);
  void continue_searches();

  Identity const& identity(ClientId id) const { return *clients_.at(id).identity; }

  static std::map<std::string, Handler> const handlers;

  Options options_;
  std::function<std::optional<Options>()> reread_;
  SpawnerLink& spawner_;
  EventLoop loop_;
  FileDescriptor lock_;  ///< of the directory
  ServerKeys keys_;
  DiskReserve reserve_;
  Catalog catalog_;
  AuditLog audit_;
  bool has_hidden_ = false;  ///< the request names something that the client may not know of
  bool is_dry_run_ = false;
  Calendar calendar_;
  std::vector<FileDescriptor> listeners_;
  Address address_;
  std::size_t descriptor_limit_ = 0;
  Admission admission_;
  UserSecrets secrets_;
  Shares kept_answers_;  ///< bytes of messages to and from users; administrators may have all
  IdentityCache identities_;
  SubordinateUsers subordinates_;
  Retry shortage_log_;
  Budgets grant_lines_{2, 20};  ///< of the log, about the grants of each user
  std::map<ClientId, Client> clients_;
  ClientId next_client_ = 1;
  std::map<std::string, Live> grants_;
  std::vector<std::unique_ptr<DataLink>> ending_;
  std::vector<Revocation> revocations_;
  std::map<uid_t, std::deque<NameSearch>> searches_;           ///< of each user; none is empty
  uid_t last_searcher_ = 0;                                    ///< the user who had the last turn
  std::multimap<Retry::Clock::time_point, Refusal> refusals_;  ///< by the time when they are due
  int refusal_timer_ = -1;
  int search_timer_ = -1;
  std::set<std::string> lost_windows_;  ///< still in the catalog
  Retry lost_windows_removal_;
  bool is_ending_ = false;
  int seconds_ending_ = 0;
};

}  // namespace mpixrma::nam
