// In place of table_export.cpp in a build without files (GARUDA_FILES=OFF).
#include "bench/table_export.hpp"

namespace garuda::bench {

Result<void> export_table(std::filesystem::path const&, char const*, Table const&) {
  return fail(ErrorCode::usage, "--export writes Arrow files, which this garuda was built without (GARUDA_FILES=OFF)");
}

}  // namespace garuda::bench
