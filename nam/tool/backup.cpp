/// mpix-nam backup and restore: saves a persistent window in a file. The first line describes the window; its
/// bytes follow.
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <numeric>

#include "nam/client/spread_allocation.hpp"
#include "nam/protocol/units.hpp"
#include "nam/tool/commands.hpp"
#include "nam/tool/found_file.hpp"
#include "nam/tool/new_file.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::size_t piece_bytes = 1u << 20;
constexpr std::size_t longest_head = 16u << 20;                   ///< a window with the most regions needs 3M
constexpr std::uint64_t largest_window = std::uint64_t{1} << 62;  ///< bytes
constexpr char const* format_name = "mpix-nam window 1";

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File open_file(std::filesystem::path const& path) {
  // Another user's link could lead to a file that only the caller may read, and the restored window would
  // reveal it.
  engine::FileDescriptor const found = find_file(path);
  File file(std::fopen(("/proc/self/fd/" + std::to_string(found.get())).c_str(), "rb"), std::fclose);
  if (!file) throw Error(ErrorCode::bad_request, "cannot open " + path.string());
  return file;
}

/// Calls `move` for each piece of a region, with its location and a buffer for its bytes.
template <typename Move>
void for_each_piece(Spread const& spread, std::uint64_t rank, WindowRegion const& region, Move move) {
  std::vector<std::byte> buffer(piece_bytes);
  for (std::uint64_t done = 0; done < region.bytes;) {
    Spread::Location const at = spread.find(rank, done);
    std::uint64_t const bytes = std::min({std::uint64_t{piece_bytes}, region.bytes - done, at.bytes});
    move(at, std::span(buffer).first(bytes));
    done += bytes;
  }
}

}  // namespace

void backup(Arguments const& arguments) {
  std::vector<Session> sessions;
  std::vector<WindowInfo> const parts = find_parts(arguments.target, &sessions);
  Spread const spread = spread_of(parts);
  std::vector<WindowRegion> const regions = regions_of(parts);
  Json sizes = Json::array();
  Json units = Json::array();
  for (WindowRegion const& region : regions) {
    sizes.push_back(region.bytes);
    units.push_back(region.unit);
  }
  NewFile file(arguments.file);
  Json const head{{"format", format_name},
                  {"sizes", sizes},
                  {"units", units},
                  {"durability", to_string(parts.front().durability)},
                  {"stripe", spread.chunk_bytes()}};
  std::string const line = head.dump() + "\n";
  file.write(std::as_bytes(std::span(line)));
  for (std::uint64_t rank = 0; rank < regions.size(); ++rank) {
    for_each_piece(spread, rank, regions[rank], [&](Spread::Location const& at, std::span<std::byte> piece) {
      sessions[at.part].read(parts[at.part], at.place, at.offset, piece);
      file.write(piece);
    });
  }
  file.finish();
}

namespace {

/// The description of a saved window.
struct SavedWindow {
  std::vector<std::uint64_t> sizes;  ///< of regions, bytes
  std::vector<std::uint64_t> units;
  WindowOptions options;

  std::uint64_t bytes() const { return std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}); }
};

/// Returns the description in a line that backup() has written. Throws Error for any other line.
SavedWindow parse_saved(std::string const& line) {
  Json const head = Json::parse(line, nullptr, false);
  if (!head.is_object() || field<std::string>(head, "format") != format_name)
    throw Error(ErrorCode::malformed, "not the format of a saved window");
  WindowOptions options{true, parse_durability(field<std::string>(head, "durability")), 0600};
  options.chunk_bytes = field_or<std::uint64_t>(head, "stripe", 0);
  SavedWindow saved{field<std::vector<std::uint64_t>>(head, "sizes"),
                    field<std::vector<std::uint64_t>>(head, "units"), options};
  std::uint64_t left = largest_window;
  bool is_possible = !saved.sizes.empty() && saved.sizes.size() == saved.units.size();
  for (std::uint64_t const unit : saved.units) is_possible = is_possible && unit != 0;
  for (std::uint64_t const size : saved.sizes) {
    is_possible = is_possible && size <= left;
    if (is_possible) left -= size;
  }
  if (!is_possible) throw Error(ErrorCode::malformed, "not the regions of a window");
  return saved;
}

/// Reads the first line of the file. Throws Error(bad_request) if backup() has not written the file, or if
/// the file size does not match the line.
SavedWindow read_saved(std::FILE* file, std::filesystem::path const& path) {
  std::string line;
  for (int c = std::fgetc(file); c != '\n' && c != EOF && line.size() <= longest_head; c = std::fgetc(file))
    line.push_back(static_cast<char>(c));
  SavedWindow saved;
  try {
    saved = parse_saved(line);
  } catch (Error const&) {
    throw Error(ErrorCode::bad_request, path.string() + " is not a window that mpix-nam has saved");
  }
  std::uint64_t const bytes = line.size() + 1 + saved.bytes();
  struct stat status {};
  bool const has_size = ::fstat(::fileno(file), &status) == 0 && S_ISREG(status.st_mode);
  if (has_size && static_cast<std::uint64_t>(status.st_size) != bytes)
    throw Error(ErrorCode::bad_request, path.string() + " is damaged: it has " +
                                            std::to_string(status.st_size) + " bytes of " +
                                            std::to_string(bytes));
  return saved;
}

void fill(std::vector<WindowInfo> const& parts, std::vector<Session>& sessions, std::FILE* file,
          std::filesystem::path const& path) {
  Spread const spread = spread_of(parts);
  std::vector<WindowRegion> const regions = regions_of(parts);
  for (std::uint64_t rank = 0; rank < regions.size(); ++rank) {
    for_each_piece(spread, rank, regions[rank], [&](auto const& at, std::span<std::byte> piece) {
      if (std::fread(piece.data(), 1, piece.size(), file) != piece.size())
        throw Error(ErrorCode::bad_request, path.string() + " ends too early");
      sessions[at.part].write(parts[at.part], at.place, at.offset, piece);
    });
  }
  for (std::size_t part = 0; part < parts.size(); ++part) sessions[part].persist(parts[part]);
}

/// An error here must not take the place of the reason why the window is not whole.
void discard(std::string const& port) {
  std::fprintf(stderr, "mpix-nam: the window is not whole, and is evicted\n");
  try {
    evict_window(parse_locator(port).address, port);
  } catch (Error const& error) {
    std::fprintf(stderr, "mpix-nam: it remains as %s: %s\n", port.c_str(), error.what());
  }
}

}  // namespace

/// Restores into a new persistent window, over all grants of the arguments, and prints its port name.
void restore(Arguments const& arguments) {
  File const file = open_file(arguments.file);
  SavedWindow const saved = read_saved(file.get(), arguments.file);
  if (arguments.dry_run) {
    std::cout << "would restore a window of " << format_bytes(saved.bytes()) << " in " << saved.sizes.size()
              << " regions into " << grants_of(arguments).size() << " grants\n";
    return;
  }
  std::vector<Session> sessions;
  std::vector<WindowInfo> const parts =
      allocate_parts(grants_of(arguments), saved.sizes, saved.units, saved.options, &sessions);
  try {
    fill(parts, sessions, file.get(), arguments.file);
  } catch (...) {
    discard(parts.front().port);
    throw;
  }
  std::string const& port = parts.front().port;
  if (arguments.json) {
    std::cout << Json{{"port", port}}.dump(2) << "\n";
  } else {
    std::cout << port << "\n";
  }
}

}  // namespace mpixrma::nam
