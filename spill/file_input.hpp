// What is read of a file.
#pragma once

#include <filesystem>

#include "io/table_reader.hpp"

namespace garuda::spill {

struct FileInput {
  std::filesystem::path path;
  io::ReadOptions options;
};

}  // namespace garuda::spill
