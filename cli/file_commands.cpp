#include "cli/file_commands.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "core/os/library.hpp"

namespace garuda::cli {
namespace {

Result<FileCommands const*> load() {
  std::string reasons;
  for (auto const& file : os::own_library_files("garuda_files")) {
    auto const library = os::LoadedLibrary::load(file, os::Binding::when_called);
    if (!library) {
      reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", library.error().message());
      continue;
    }
    auto const function = library->find(kFileCommandsFunction);
    if (!function)
      return fail(ErrorCode::usage, fmt::format("{} is not garuda's: {}", file.string(), function.error().message()));
    auto const* const commands = reinterpret_cast<decltype(&garuda_file_commands)>(*function)();
    if (std::string_view(commands->version) != GARUDA_VERSION)
      return fail(ErrorCode::usage,
                  fmt::format("{} is of garuda {}, and this is {}", file.string(), commands->version, GARUDA_VERSION));
    return commands;
  }
  return fail(ErrorCode::limit_exceeded, fmt::format("garuda's library for files cannot be loaded: {}", reasons));
}

}  // namespace

Result<FileCommands const*> load_file_commands() {
  static Result<FileCommands const*> const loaded = load();
  return loaded;
}

}  // namespace garuda::cli
