#include "bench/export_tables.hpp"

#include <fmt/format.h>

#include <system_error>

#include "io/table_writer.hpp"

namespace garuda::bench {

Result<std::filesystem::path> export_table(std::filesystem::path const& folder, std::string const& name,
                                           Table const& table) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return fail(ErrorCode::output, fmt::format("cannot create folder {}: {}", folder.string(), error.message()));
  auto path = folder / (name + ".arrow");
  GARUDA_TRY_ASSIGN(auto writer, io::TableWriter::open(path, table.schema()));
  for (auto const& batch : table.batches()) GARUDA_TRY(writer.write(batch));
  GARUDA_TRY(writer.finish());
  return path;
}

}  // namespace garuda::bench
