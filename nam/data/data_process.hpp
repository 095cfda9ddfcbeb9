/// The process that has the memory of one grant, and serves the sessions of its users. It holds nothing of
/// other grants. The control process hands it the connections of admitted clients, and keeps the catalog.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nam/data/accepted_connections.hpp"
#include "nam/data/data_engine.hpp"
#include "nam/data/segment_allocator.hpp"
#include "nam/data/segment_list.hpp"
#include "nam/data/shares.hpp"
#include "nam/data/storage.hpp"
#include "nam/data/storage_file.hpp"
#include "nam/data/storage_sync.hpp"
#include "nam/data/window.hpp"
#include "nam/process/connection.hpp"
#include "nam/process/token_buckets.hpp"
#include "nam/protocol/operation_request.hpp"
#include "nam/protocol/shared_control.hpp"

namespace mpixrma::nam {

class DataProcess {
 public:
  /// `control` is the connection to the control process.
  explicit DataProcess(FileDescriptor control);

  /// Runs until the grant ends, or no control process has come back for a long time. Returns the exit code.
  int run();

 private:
  /// Identifies a lock of a client that does not map the memory. `holder` is the client's own number for the
  /// lock holder.
  struct LockKey {
    SharedControl::Slot slot = 0;
    std::uint64_t holder = 0;
    std::uint32_t rank = 0;
    auto operator<=>(LockKey const&) const = default;
  };
  /// A client that was admitted.
  struct Session {
    std::unique_ptr<Connection> connection;
    Identity identity;
    uid_t account = 0;          ///< the user whose share and turns the session has (SubordinateUsers)
    bool has_share = false;     ///< it has taken its share of the grant's sessions and descriptors
    bool is_owner = false;      ///< of the grant: may allocate, and map its memory
    bool is_local = false;      ///< descriptors can be passed
    DataEngine::Access access;  ///< to the engine, once requested; exposures are reported from then on
    AdmittedHosts hosts;        ///< from which the engine's clients connect
    std::chrono::steady_clock::time_point heard;  ///< time of the last message
    bool may_end = false;                         ///< its lease was over; its end waits for the user's turn
    pid_t pid = 0;                                ///< of a local client; 0 where this process cannot see it
    FileDescriptor process;                       ///< pidfd of the client, if the system has pidfds
    bool has_mapped = false;                      ///< the memory of the grant
    std::map<std::uint64_t, SharedControl>
        locks;  ///< of a client that does not map the memory, by the client's numbers of holders
    std::map<LockKey, engine::LockMode> requested_locks;  ///< that the client holds or waits for

    ShareHolder holder() const noexcept { return {account, is_owner}; }
  };
  using SessionId = std::uint64_t;
  /// The reply to a request that returns nothing.
  inline static Json const done{{"ok", true}};

  struct ServedWindow {
    Window window;
    SessionId session = 0;  ///< the window ends with this session; 0: with the grant
    SharedControl::Slot slot = 0;
    std::uint64_t exposure = 0;         ///< exposure to engines; 0: none yet
    std::uint64_t cached = 0;           ///< SharedControl::cached() as read last, once a second
    std::set<SessionId> used_by{};      ///< sessions that have opened the window, and may map it later
    std::set<SessionId> released_by{};  ///< sessions that have released the window, and stay open
    std::set<SessionId> lockers{};      ///< sessions that have requested locks of it
    /// failed_syncs() before the last sync of its pages. Nothing: this process has not synced the window, and
    /// does not know whether a sync of an earlier process failed.
    std::optional<std::uint64_t> synced{};
  };
  /// Memory in the grant that belonged to a window.
  struct RetiredSegment {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    mpix_engine_withdrawn withdrawn{};  ///< exposure through which clients may reach this memory
    std::string window{};  ///< the persistent window, which the list of segments has; otherwise empty
    std::set<SessionId> used_by{};  ///< of an evicted window: sessions that may still store to it if they map
    bool is_stuck = false;          ///< it could not be cleared, and is in the log
    bool is_inherited = false;      ///< unknown clients of an earlier data process may still map it
  };
  /// The cached windows of sessions that reclaim_cached() takes back.
  enum class Cached { all, idle_for_a_second };
  /// A persistent window that is not in the catalog yet.
  struct Pending {
    SessionId session;
    std::string window;
  };
  /// A window that is written to the storage file while a session waits.
  struct Storing {
    SessionId session;
    std::string window;
    Durability durability;                    ///< the durability for which the session waits
    std::function<void(ServedWindow&)> done;  ///< answers the session, or throws Error
    std::function<void()> failed;             ///< called before a failure is reported to the session
    std::uint64_t stored = 0;                 ///< bytes of the window
    std::uint64_t failures = 0;               ///< failed_syncs() at the beginning
  };
  struct Quotas {
    std::uint64_t windows = 0;
    std::uint64_t regions = 0;
    std::uint64_t sessions = 0;
    std::uint64_t metadata = 0;  ///< bytes
  };
  /// The windows of the catalog, which arrive in pages.
  struct Loading {
    bool adopted = false;  ///< this process has served before
    std::map<std::string, Window> listed;
    std::set<std::string> newer;  ///< made meanwhile: a page may lack them
  };

  // data_process.cpp: the control process.
  void attach_control(FileDescriptor socket);
  void on_control(Message& message);
  void handle_control_message(Message& message);
  void lose_control();
  void be_adopted();
  void report_ready(std::vector<FileDescriptor> memory);
  std::vector<FileDescriptor> memory_to_pass() const;
  void wait_for_control();
  void change_mode(std::string const& window, unsigned mode);
  void withdraw_all() noexcept;
  void end_keeping_windows();
  void end_discarding_windows();
  void on_created(Json const& answer);
  void report_usage();
  void report_usage_of(Window const& window);
  void report_usage_soon();
  Json usage() const;

  // set_up.cpp: the memory, and the windows that are in it already.
  void set_up(Message& message);
  void open_memory(Message& message);
  void refuse_grant(Error const& error);
  void reserve_next();
  void finish_set_up();
  void load(Json const& page);
  void reconcile(Loading const& loaded);
  void register_window(Window window, SessionId session,
                       std::optional<SharedControl::Slot> place = std::nullopt);

  // sessions.cpp: from the hand-over to the end.
  Session session_from(SessionId id, Message& message);
  void open_session(Message& message);
  void take_share(Session& session);
  void close_session(SessionId id);
  void end_former_admins(std::vector<uid_t> const& admins);

  // leases.cpp: clients that have ended, or that send nothing.
  void watch_client(SessionId id);
  void end_silent_sessions();
  void end_if_silent(SessionId id);
  void end_lost_sessions();
  void leave(SessionId id, std::string const& window);

  // requests.cpp: requests of sessions; operate() and execute() are in operate.cpp.
  void serve(SessionId id, Message& message);
  void report_denied(SessionId id, Json const& request, Error const& error);
  void report_omitted_denials();
  void on_request(SessionId id, Message& message);
  Json describe(SessionId id, ServedWindow& served);
  void make_durable(SessionId id, ServedWindow& served, std::function<void()> failed);
  void add_to_catalog(SessionId id, ServedWindow& served);
  Json allocate(SessionId id, Json const& request);
  Json make_persistent(SessionId id, Json const& request);
  Json join(SessionId id, Json const& request);
  void release(SessionId id, Json const& request);
  void persist(SessionId id, Json const& request);
  void read(SessionId id, Json const& request);
  void write(SessionId id, Message const& message);
  void operate(SessionId id, Message const& message);
  bool execute(OperationRequest const& request, Region const& region, std::span<std::byte> fetched);
  void map(SessionId id);

  // locks.cpp: the account of locks of clients that do not map the memory.
  void on_try_lock(SessionId id, Json const& request);
  void on_unlock(SessionId id, Json const& request);
  void on_end_locks(SessionId id, Json const& request);
  enum class Revoked { all, exclusive };
  void revoke_locks(SessionId id, ServedWindow const& served, Revoked which) noexcept;
  void revoke_locks_without_right(ServedWindow const& served) noexcept;

  // processes.cpp: processes that map a window.
  void processes(SessionId id, Json const& request);
  std::set<SessionId> users_of(ServedWindow const& served) const;
  bool is_mapped(RetiredSegment const& piece) const;
  static void check_takes_descriptors(Session const& session);

  // evicted.cpp: memory of evicted windows that outlives this process.
  void remove_window(std::string const& window);
  std::uint64_t evicted_windows() const;
  void take_inherited();
  void release_inherited();

  // durability.cpp: the storage file.
  void load_windows();
  std::uint64_t failed_syncs() const noexcept;
  void begin_storing(Storing storing);
  void store_next(std::shared_ptr<Storing> const& storing);
  void store_part(std::shared_ptr<Storing> const& storing);
  void end_storing(Storing const& storing, Error const* failure);
  void answer_session(SessionId id, Json const& answer);
  void store_all() const noexcept;
  void store_some();

  // unmapped.cpp: for clients that do not map the memory.
  void send_engine_address(SessionId id, Json const& request);
  void start_engine();
  void check_accepted();
  void open_access(Session& session);
  void close_access(Session const& session) noexcept;
  void trim_memory();
  std::uint64_t expose(ServedWindow& served);
  SharedControl const& locks_of(SessionId id, Json const& request);
  void try_lock(SessionId id, Json const& request);
  void unlock(SessionId id, Json const& request);
  void end_locks(SessionId id, Json const& request);
  bool give_back(RetiredSegment& piece) noexcept;
  void reclaim_retired();
  bool may_be_accessed(RetiredSegment const& piece) const noexcept;
  void wait_for_retired(Window const& window);

  static bool permits(Session const& session, Window const& window, WindowRights wanted) noexcept;
  ServedWindow& window_for(SessionId id, Json const& request, WindowRights wanted);
  static std::vector<std::string> other_parts_of(Json const& request);
  Window make_window(Session const& session, Json const& request);
  bool has_room_for(Window const& window) const;
  void reclaim_cached(Cached which);
  void check_quotas(Window const& window) const;
  enum class Ending { freed, evicted };
  void drop(std::string const& window, Ending ending = Ending::freed);

  /// The memory of the grant.
  struct Memory {
    StorageKind kind = StorageKind::memory;
    std::optional<Storage> storage;
    std::optional<StorageFile> file;
    std::optional<StorageSync> sync;  ///< of the file, from the first window on that needs it
    std::optional<SharedControl> shared;
    std::optional<SegmentAllocator> free;
    std::optional<SegmentList> segments;  ///< of persistent windows
    bool is_inherited = false;            ///< from an earlier data process, whose clients may still map it
  };
  /// The engine, for clients that cannot map the memory.
  struct Remote {
    DataEngine::Network network;                               ///< without interfaces there is no engine
    std::unique_ptr<DataEngine> engine;                        ///< from the first session on that needs it
    std::chrono::steady_clock::time_point refusal_reported{};  ///< last log line about refused connections
    int trims_due = 0;                                         ///< malloc_trim() calls due, one a second
  };
  /// Shares of the sessions in what the grant permits.
  struct SessionShares {
    Shares sessions;
    Shares descriptors;  ///< of sessions: sockets, pidfds, locks, connections to the engine
    Shares locks;        ///< of sessions, held or waited for
    Shares messages;     ///< bytes of messages that are not complete, or not sent
  };
  /// Sums over all windows.
  struct Totals {
    std::uint64_t regions = 0;
    std::uint64_t metadata = 0;  ///< bytes
  };
  /// The state of the control process's catalog, as far as it concerns this process.
  struct Catalog {
    std::optional<Loading> loading;
    bool is_loaded = false;
    std::map<std::uint64_t, Pending> pending;
    std::uint64_t next_creation = 1;
    std::vector<std::string> unconfirmed;  ///< pending when the control process was lost
  };
  /// The next report of the usage to the control process.
  struct UsageReport {
    bool is_sent = true;
    bool is_due = false;
    int timer = -1;
    std::uint64_t sessions_taken = 0;  ///< that the control process does not know of yet
  };
  /// The write-back in the background.
  struct WriteBack {
    std::string window;       ///< window at which the write-back continues
    std::uint64_t bytes = 0;  ///< bytes of this window that are done
    int rounds_due = 2;       ///< two, as one may have begun before the last session ended
  };
  /// The time without a control process.
  struct Adoption {
    FileDescriptor socket;      ///< at which a new control process finds this one
    bool is_temporary = false;  ///< the server runs with --temporary: no new control process will come
    int seconds_alone = 0;
  };
  /// Leases of remote sessions.
  struct Leases {
    std::chrono::seconds length{0};                 ///< 0: without end
    std::chrono::steady_clock::time_point checked;  ///< the last time, for silent sessions
  };
  /// The reservation of the memory, during which the process serves nobody.
  struct Reservation {
    int timer = -1;
    bool is_active = false;
  };

  EventLoop loop_;
  std::unique_ptr<Connection> control_;
  Adoption adoption_;
  std::string grant_;
  uid_t owner_ = 0;
  Memory memory_;
  Remote remote_;
  Quotas quotas_;
  SessionShares shares_;
  std::map<std::string, ServedWindow> windows_;
  TokenBuckets denials_{10, 1};  ///< reports to the control process, of each user
  Totals totals_;
  Catalog catalog_;
  std::vector<RetiredSegment> retired_;  ///< memory of ended windows that clients may still reach
  std::map<SessionId, Session> sessions_;
  SessionId next_session_ = 1;
  UsageReport usage_report_;
  Reservation reservation_;
  WriteBack write_back_;
  Leases leases_;
  int exit_code_ = 0;
};

}  // namespace mpixrma::nam
