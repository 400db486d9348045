#include "cli/arguments/threads.hpp"
#include "io/table_reader.hpp"

namespace garuda::cli {

Result<std::uint32_t> set_file_threads(std::uint32_t threads) { return io::set_arrow_threads(threads); }

}  // namespace garuda::cli
