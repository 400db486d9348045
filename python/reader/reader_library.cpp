#include "python/reader/reader_library.hpp"

#include <tbb/parallel_for.h>

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
  std::vector<Result<ReadFiles>> parts(tables.size());
  auto const read_part = [&](std::size_t i) { parts[i] = read_table(tables[i], options); };
  if (options.spill_folder)
    for (std::size_t i = 0; i < tables.size(); ++i) read_part(i);
  else
    on_threads(options.threads, [&] { tbb::parallel_for(std::size_t{0}, tables.size(), read_part); });
  std::vector<ReadFiles> read;
  for (auto& part : parts) {
    GARUDA_TRY_ASSIGN(auto rows, std::move(part));
    read.push_back(std::move(rows));
  }
  return read;
}

void release_memory() { KeptMemory::instance().give_back_all(); }

}  // namespace
}  // namespace garuda::python

extern "C" garuda::python::ReaderLibrary const* garuda_reader() {
  static constexpr garuda::python::ReaderLibrary kLibrary{GARUDA_VERSION, garuda::python::read,
                                                          garuda::python::release_memory};
  return &kLibrary;
}
