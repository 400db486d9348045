// The arguments that every command with a result has: where it runs, what it may use, where the result goes.
#pragma once

#include <tbb/global_control.h>
#include <CLI/CLI.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "garuda/error.hpp"
#include "garuda/run.hpp"
#include "io/file_format.hpp"

namespace garuda::cli {

/// Parses a number of bytes of at least 1: `1000000`, `2e9`, `1.5GB` (10^9), `256MiB` (2^20); K, M, G and T alone are
/// binary, as KiB, MiB, GiB and TiB. Case does not matter. Fractions of a byte are dropped.
/// Errors: usage, with the text.
Result<std::uint64_t> parse_size(std::string_view text);

/// Help for arguments that name a table.
inline constexpr auto kTableHelp =
    "a .parquet, .arrow, .arrows, .feather or .csv file, a folder or a pattern of them, or a list, by commas";

/// Arguments that both commands have, as typed.
struct RunArguments {
  std::string output;
  std::string path = "auto";
  std::string device = "auto";
  std::string tuning;
  std::string memory_limit;
  std::string device_memory_limit;
  std::string temp_folder;
  std::string stats;
  std::string compression;
  std::int64_t row_group_rows = 0;
  bool plain_integers = false;
  bool sync = false;
  std::string strings;
  std::uint32_t threads = 0;
  bool allow_cuda = false;
  bool ordered = false;
  bool quiet = false;
};

enum class StatsFormat : std::uint8_t { none, table, json };

/// The files and forms that the arguments ask for, beside the options of the run itself.
struct RunRequest {
  std::optional<std::filesystem::path> output;
  std::optional<io::Compression> compression;        ///< of the output; nullopt: its format's usual one
  std::optional<std::int64_t> row_group_rows;        ///< of the output, Parquet
  bool plain_integers = false;                       ///< in the output, Parquet
  bool sync = false;                                 ///< the output is on the disk when the run ends
  std::optional<std::filesystem::path> temp_folder;  ///< nullopt: $TMPDIR, or /tmp
  StatsFormat stats = StatsFormat::none;
  StringForm strings = StringForm::utf8;
  bool quiet = false;
  std::uint64_t input_bytes = 0;                     ///< of the input files
  std::atomic<std::uint64_t>* bytes_read = nullptr;  ///< counts what is read of the input files
};

/// Declares the options on `app`, but for --ordered, whose meaning each command has to say; `arguments` must outlive
/// the parse.
void add_run_options(CLI::App& app, RunArguments& arguments, std::string const& tuning_example);

/// Declares --temp-folder, where `what`: "tables … are spilled".
void add_temp_folder_option(CLI::App& app, RunArguments& arguments, std::string_view what);

/// Sets all of `options` but the tuning.
/// Errors: usage, for values that make no sense and for what this version does not do; no_device, for a path that this
/// build does not have.
Result<void> set_run_options(RunArguments const& arguments, RunOptions& options);

/// Errors: usage.
Result<RunRequest> to_run_request(RunArguments const& arguments);

/// Refuses an option's value that is given and empty.
CLI::Validator not_empty();

/// Limits the threads of oneTBB to `threads` while it lives; 0 leaves them.
class ThreadLimit {
 public:
  explicit ThreadLimit(std::uint32_t threads) {
    if (threads != 0) control_.emplace(tbb::global_control::max_allowed_parallelism, threads);
  }
  ThreadLimit(ThreadLimit const&) = delete;
  ThreadLimit& operator=(ThreadLimit const&) = delete;

 private:
  std::optional<tbb::global_control> control_;
};

}  // namespace garuda::cli
