#include "cli/arguments/threads.hpp"
#include "io/table_reader.hpp"

namespace garuda::cli {

Result<void> limit_file_threads(std::uint32_t threads) { return io::limit_arrow_threads(threads); }

}  // namespace garuda::cli
