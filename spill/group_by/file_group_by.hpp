// Group-bys of files under a memory limit that holds for the file's rows, too.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "spill/table_input.hpp"

namespace garuda::spill {

struct FileGroupBy {
  FileInput table;
  GroupBySpec spec;
  /// The limit holds for the table, what the group-by makes of it and its result's batches together; it must be given.
  GroupByOptions options;
  std::optional<std::filesystem::path> temp_folder;  ///< nullopt: $TMPDIR, or /tmp
};

/// Groups a file: by BlockedGroupBy where that can. Else, while table and group-by fit the limit, they are grouped in
/// memory. Otherwise the rows are grouped in
/// blocks as they are read, and the exact states of their groups merged, while the groups are few enough to be kept:
/// that is seen in each block, not guessed. Where they are not, or an aggregate's state is all of its values, rows (and
/// states so far) go to partitions in the temporary folder, by the hash of their keys, which are grouped one after the
/// other: split once more, or in blocks, when they are still too large. The bits are those of a group-by in memory.
/// Ordered groups are written once more, in sorted runs, and merged; others come in the order of partitions, the same
/// for the same file, limit and tuning. What is spilled has no name in the folder, and is gone when the result is
/// destroyed or the process ends, in whatever way. Blocks until the first groups are ready. `engine` must outlive the
/// result. Errors: those of io::read_table and Engine::group_by; output for the temporary folder (missing, not
/// writable, full); limit_exceeded naming the aggregate that LargeGroup cannot make of a group that does not fit.
Result<std::unique_ptr<GroupByResult>> group_file(Engine& engine, FileGroupBy const& request);

/// The plan of group_file: the file is read as far as the limit reaches, and what does not fit is grouped once, to see
/// how many groups there are; nothing is spilled.
Result<Plan> explain_group_by_of_file(Engine& engine, FileGroupBy const& request);

}  // namespace garuda::spill
