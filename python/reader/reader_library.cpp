#include "python/reader/reader_library.hpp"

#include <cstddef>
#include <utility>

#include "core/kept_memory.hpp"
#include "core/os/memory.hpp"
#include "core/task_threads.hpp"

namespace garuda::python {
namespace {

/// The part of the host's memory that may be kept here, beside what the engine keeps.
constexpr std::uint64_t kKeptShare = 8;

/// The library has a pool of freed memory of its own. What it keeps goes back by release_memory(), or when the process
/// ends.
void keep_memory() {
  static KeptMemory::Tenancy const tenancy;
  static bool const is_set = [] {
    KeptMemory::instance().set_limit(os::total_memory_bytes() / kKeptShare);
    return true;
  }();
  static_cast<void>(is_set);
}

Result<ReadFiles> read_table(FilesToRead const& table, io::ReadOptions options) {
  ReadFiles result;
  options.columns = table.columns;
  options.wanted = table.rows;
  options.as_stored = true;
  options.files_read = &result.files;
  GARUDA_TRY_ASSIGN(result.table, io::read_table(table.files, options));
  GARUDA_TRY_ASSIGN(result.fields, io::decoded_fields(result.table.schema()));
  return result;
}

Result<std::vector<ReadFiles>> read(std::vector<FilesToRead> const& tables, io::ReadOptions const& options) {
  keep_memory();
  return task_values(tables.size(), options.threads, options.spill_folder.has_value(),
                     [&](std::size_t i) { return read_table(tables[i], options); });
}

void release_memory() { KeptMemory::instance().give_back_all(); }

}  // namespace
}  // namespace garuda::python

extern "C" garuda::python::ReaderLibrary const* garuda_reader() {
  static constexpr garuda::python::ReaderLibrary kLibrary{GARUDA_VERSION, garuda::python::read,
                                                          garuda::python::release_memory};
  return &kLibrary;
}
