// What is read of a table's files.
#pragma once

#include "io/table_reader.hpp"

namespace garuda::spill {

struct FileInput {
  io::TableFiles files;
  io::ReadOptions options;
};

}  // namespace garuda::spill
