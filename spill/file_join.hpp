// Joins of files under a memory limit that holds for the files' rows, too.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "spill/table_input.hpp"

namespace garuda::spill {

struct FileJoin {
  FileInput left;
  FileInput right;
  JoinSpec spec;
  /// The limit holds for the tables, what the join makes of them and its result's batches together; it must be given.
  JoinOptions options;
  std::optional<std::filesystem::path> temp_folder;  ///< nullopt: $TMPDIR, or /tmp
  bool count = false;                                ///< explain_join_of_files explains count_join_of_files
};

/// Joins two files. While both tables and the join fit the limit they are joined in memory. Otherwise both are split by
/// the hash of their keys into partitions in the temporary folder, which are joined one after the other: split once
/// more when they are still too large, or block by block when one key fills them. What is spilled has no name in the
/// folder and is gone when the result is destroyed or the process ends, in whatever way.
/// Rows of an ordered join are written once more, in sorted runs, and merged. Rows of an unordered one come in the
/// order of partitions, the same for the same files, limit and tuning. Blocks until the files are read and the first
/// partition is ready. `engine` must outlive the result. Errors: those of io::read_table and Engine::join; output for
/// the temporary folder (missing, not writable, full).
Result<std::unique_ptr<JoinResult>> join_files(Engine& engine, FileJoin const& request);

/// The plan of join_files, without its joins: the files are read, and spilled where they do not fit; the plan is that
/// of the first partition, and says what was spilled.
Result<Plan> explain_join_of_files(Engine& engine, FileJoin const& request);

/// The number of rows that join_files would give.
Result<Engine::Counted> count_join_of_files(Engine& engine, FileJoin const& request);

}  // namespace garuda::spill
