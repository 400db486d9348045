// A file's bytes as memory.
#pragma once

#include <memory>

#include "io/arrow_bridge.hpp"

namespace garuda::io {

/// Maps the file as long as it is now; buffers within it are references. Reading what somebody has cut off since ends
/// the process with SIGBUS, and what somebody overwrites changes. Fails with IOError.
arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> map_file(arrow::io::ReadableFile const& file);

}  // namespace garuda::io
