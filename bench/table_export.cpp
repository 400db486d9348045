#include "bench/table_export.hpp"

#include <fmt/format.h>

#include <system_error>

#include "io/table_writer.hpp"

namespace garuda::bench {

Result<void> export_table(std::filesystem::path const& folder, char const* name, Table const& table) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return fail(ErrorCode::output, fmt::format("cannot create folder {}: {}", folder.string(), error.message()));
  auto const path = folder / fmt::format("{}.arrow", name);
  GARUDA_TRY_ASSIGN(auto writer, io::TableWriter::open(path, table.schema()));
  for (auto const& batch : table.batches()) GARUDA_TRY(writer.write(batch));
  GARUDA_TRY(writer.finish());
  fmt::print("{}\n", path.string());
  return {};
}

}  // namespace garuda::bench
