// The exports of libgaruda_files.so.
#include "cli/files/runs.hpp"
#include "io/table_writer.hpp"

namespace garuda::cli {

Result<void> write_table(std::filesystem::path const& file, Table const& table) {
  GARUDA_TRY_ASSIGN(auto writer, io::TableWriter::open(file, table.schema()));
  for (auto const& batch : table.batches()) GARUDA_TRY(writer.write(batch));
  GARUDA_TRY(writer.finish());
  return writer.commit();
}

FileCommands const* garuda_file_commands() noexcept {
  static constexpr FileCommands kCommands{GARUDA_VERSION, run_join,         run_group_by,
                                          explain_join,   explain_group_by, write_table};
  return &kCommands;
}

}  // namespace garuda::cli
