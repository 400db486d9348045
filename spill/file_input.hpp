// The part of a table's files that is read.
#pragma once

#include "io/table_reader.hpp"

namespace garuda::spill {

struct FileInput {
  io::TableFiles files;
  io::ReadOptions options;
};

}  // namespace garuda::spill
