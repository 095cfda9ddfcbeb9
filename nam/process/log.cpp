#include "nam/process/log.hpp"

#include <fcntl.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "engine/base/shared_memory.hpp"
#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

void open_log(std::string const& name, std::string const& level, std::string const& file) {
  // The log names users, grants and addresses: a new file is created here, because others may not read it.
  if (!file.empty())
    engine::FileDescriptor const made(
        ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640));
  try {
    auto const logger = file.empty() ? spdlog::stderr_logger_mt(name) : spdlog::basic_logger_mt(name, file);
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %n[%P] %l: %v");
    logger->flush_on(spdlog::level::info);
    spdlog::set_default_logger(logger);
  } catch (spdlog::spdlog_ex const& error) {
    throw Error(ErrorCode::bad_request, "cannot write the log to " + file + ": " + error.what());
  }
  set_log_level(level);
}

void set_log_level(std::string const& level) { spdlog::set_level(spdlog::level::from_str(level)); }

void log(Severity severity, std::string const& line) {
  switch (severity) {
    case Severity::debug: return spdlog::debug(line);
    case Severity::info: return spdlog::info(line);
    case Severity::warning: return spdlog::warn(line);
    case Severity::error: return spdlog::error(line);
  }
}

}  // namespace mpixrma::nam
