/// mpix-nam backup and restore: a persistent window as a file. The first line describes it, its bytes follow.
#include <cstdio>
#include <iostream>
#include <memory>

#include "nam/client/spread.hpp"
#include "nam/tool/commands.hpp"

namespace mpix::nam {

namespace {

constexpr std::size_t piece_bytes = 1u << 20;
constexpr char const* format_name = "mpix-nam window 1";

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File open_file(std::filesystem::path const& path, char const* mode) {
  File file(std::fopen(path.c_str(), mode), std::fclose);
  if (!file) throw Error(ErrorCode::bad_request, "cannot open " + path.string());
  return file;
}

/// Calls `move` with each piece of a region.
template <typename Move>
void for_each_piece(WindowRegion const& region, Move move) {
  std::vector<std::byte> buffer(piece_bytes);
  for (std::uint64_t done = 0; done < region.bytes;) {
    std::size_t const bytes = std::min<std::uint64_t>(piece_bytes, region.bytes - done);
    move(done, std::span(buffer).first(bytes));
    done += bytes;
  }
}

}  // namespace

void backup(Arguments const& arguments) {
  std::vector<Session> sessions;
  std::vector<WindowInfo> const parts = find_parts(arguments.target, &sessions);
  Spread const spread(parts.size());
  std::uint64_t ranks = 0;
  for (WindowInfo const& part : parts) ranks += part.regions.size();
  auto const region = [&](std::uint64_t rank) {
    return parts[spread.part_of(rank)].regions[spread.place_of(rank)];
  };
  Json sizes = Json::array();
  Json units = Json::array();
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    sizes.push_back(region(rank).bytes);
    units.push_back(region(rank).unit);
  }
  std::filesystem::path const unfinished = arguments.file.string() + ".unfinished";
  File const file = open_file(unfinished, "wb");
  Json const head{
      {"format", format_name}, {"sizes", sizes}, {"units", units}, {"durability", parts.front().durability}};
  std::string const line = head.dump() + "\n";
  bool good = std::fwrite(line.data(), 1, line.size(), file.get()) == line.size();
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    std::size_t const part = spread.part_of(rank);
    for_each_piece(region(rank), [&](std::uint64_t offset, std::span<std::byte> piece) {
      sessions[part].read(parts[part], spread.place_of(rank), offset, piece);
      good = good && std::fwrite(piece.data(), 1, piece.size(), file.get()) == piece.size();
    });
  }
  if (!good || std::fflush(file.get()) != 0)
    throw Error(ErrorCode::no_space, "cannot write " + unfinished.string());
  std::filesystem::rename(unfinished, arguments.file);
}

/// Into a new persistent window of one grant; prints its port name.
void restore(Arguments const& arguments) {
  File const file = open_file(arguments.file, "rb");
  std::string line;
  for (int c = std::fgetc(file.get()); c != '\n' && c != EOF; c = std::fgetc(file.get()))
    line.push_back(static_cast<char>(c));
  Json const head = Json::parse(line, nullptr, false);
  if (!head.is_object() || field<std::string>(head, "format") != format_name)
    throw Error(ErrorCode::bad_request, arguments.file.string() + " is not a window that mpix-nam has saved");
  auto const grant = is_locator(arguments.target) ? parse_locator(arguments.target)
                                                  : Locator{arguments.target, "", address_of(arguments)};
  Session session = Session::open(grant);
  WindowInfo const window = session.allocate(field<std::vector<std::uint64_t>>(head, "sizes"),
                                             field<std::vector<std::uint64_t>>(head, "units"),
                                             {true, field<std::string>(head, "durability"), 0600});
  for (std::uint64_t rank = 0; rank < window.regions.size(); ++rank) {
    for_each_piece(window.regions[rank], [&](std::uint64_t offset, std::span<std::byte> piece) {
      if (std::fread(piece.data(), 1, piece.size(), file.get()) != piece.size())
        throw Error(ErrorCode::bad_request, arguments.file.string() + " ends too early");
      session.write(window, rank, offset, piece);
    });
  }
  session.persist(window);
  if (arguments.json) {
    std::cout << Json{{"port", window.port}}.dump(2) << "\n";
  } else {
    std::cout << window.port << "\n";
  }
}

}  // namespace mpix::nam
