#include "core/os/library.hpp"

#include <system_error>

#include "core/os/library.hpp"

namespace garuda::os {

std::vector<std::filesystem::path> own_library_files(std::string const& name) {
  auto const file_name = library_file_name(name);
  std::vector<std::filesystem::path> files;
  if (auto const folder = own_folder(); !folder.empty())
    for (auto const* const place : {".", "garuda", "../lib", GARUDA_LIBRARY_FOLDER}) {
      auto const file = (folder / place / file_name).lexically_normal();
      std::error_code ignored;
      if (std::filesystem::exists(file, ignored)) files.push_back(file);
    }
  files.emplace_back(file_name);
  return files;
}

}  // namespace garuda::os
