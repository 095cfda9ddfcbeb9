#include "tool/environment.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "tool/error.hpp"
#include "tool/run.hpp"

namespace mpixrma::tool {

namespace {

// Reads env.sh, which alone determines the values of these variables. Prints NAME=VALUE and a zero byte for
// each variable that is set.
constexpr char const* read_environment = R"(. "$0" || exit 1
for name in PATH MANPATH PKG_CONFIG_PATH CMAKE_PREFIX_PATH LD_LIBRARY_PATH PYTHONPATH OMPI_MCA_mca_base_component_path \
    OMPI_MCA_osc PMIX_MCA_mca_base_component_path; do
  eval "[ -z \"\${$name+set}\" ] || printf '%s=%s\\0' \"\$name\" \"\${$name}\""
done)";

/// Returns `text` as one word of the shell.
std::string quoted(std::string_view text, Shell shell) {
  std::string word = "'";
  for (char const character : text) {
    bool const escaped =
        (character == '\\' && shell == Shell::fish) || (character == '!' && shell == Shell::csh);
    if (character == '\'')
      word += "'\\''";
    else
      word += escaped ? std::string{'\\', character} : std::string{character};
  }
  return word + "'";
}

/// Quotes an absolute path as the first word of ExecStart=, within double quotes.
std::string quoted_for_systemd(std::string const& path) {
  std::string word;
  for (char const character : path) {
    if (character == '"' || character == '\\') word += '\\';
    if (character == '%') word += '%';
    word += character;
  }
  return word;
}

}  // namespace

std::map<std::string, std::string> environment_of(Installation const& installation) {
  Output const output = run({"/bin/sh", "-c", read_environment, installation.environment.string()});
  if (output.status != 0) throw Error(installation.environment.string() + " does not set the environment");
  std::map<std::string, std::string> variables;
  std::string_view rest = output.text;
  for (std::size_t end = rest.find('\0'); end != rest.npos; end = rest.find('\0')) {
    std::string_view const entry = rest.substr(0, end);
    std::size_t const name = entry.find('=');
    variables.emplace(entry.substr(0, name), entry.substr(name + 1));
    rest.remove_prefix(end + 1);
  }
  return variables;
}

void print_environment(Installation const& installation, Shell shell) {
  for (auto const& [name, value] : environment_of(installation)) {
    char const* const before = shell == Shell::csh ? "setenv " : "export ";
    char const* const between = shell == Shell::csh ? " " : "=";
    std::printf("%s%s%s%s;\n", before, name.c_str(), between, quoted(value, shell).c_str());
  }
}

void print_unit(Installation const& installation) {
  std::ifstream unit(installation.unit);
  if (!unit) throw Error(installation.unit.string() + " does not exist: built without the memory server");
  constexpr std::string_view command = "/bin/mpix-namd\"";
  constexpr std::string_view key = "ExecStart=\"";
  for (std::string line; std::getline(unit, line);) {
    std::size_t const end = line.find(command);
    if (line.starts_with(key) && end != line.npos)
      line.replace(key.size(), end - key.size(), quoted_for_systemd(installation.prefix.string()));
    std::printf("%s\n", line.c_str());
  }
}

}  // namespace mpixrma::tool
