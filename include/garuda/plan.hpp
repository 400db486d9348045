// Which path runs on which device, why, and at what estimated cost; and what a run took.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "garuda/error.hpp"

namespace garuda {

enum class Path : std::uint8_t { automatic, graphics, compute, cuda, cpu };

std::string_view to_string(Path path) noexcept;
/// Errors: usage.
Result<Path> parse_path(std::string_view text);

/// A strategy for the work, priced.
struct Candidate {
  Path path = Path::cpu;
  std::string device;
  std::string choices;                                    ///< e.g. "address=direct storage=runs probe=output"
  double estimated_ns = 0;                                ///< 0 when it cannot run
  std::string reason;                                     ///< why it was chosen, is dearer, or cannot run
  std::vector<std::pair<std::string, double>> phases_ns;  ///< estimate by phase
};

/// The decision for one operator of a query and, as its inputs, for those that feed it: a tree, whose leaves are
/// tables. Path, device, strategy and estimate are those of the candidate that was chosen. Printable with to_string,
/// to_json.
struct Plan : Candidate {
  std::string operation;      ///< "join", "group-by", "table", or another operator of a query
  double estimated_rows = 0;  ///< of the result, about; 0: not known, or rows are only counted
  /// Rows that an operator of a query gave, once it has run, and the time of all threads within it alone.
  std::optional<std::uint64_t> rows;
  std::uint64_t ns = 0;
  std::vector<Plan> inputs;     ///< of a join the left and the right one
  std::vector<Plan> written;    ///< of a query that has not run: its root as it is written, which has no places
  bool on_device = false;       ///< a device does the work, else the host's threads
  std::string driver;           ///< driver name and version
  std::uint32_t key_bits = 32;  ///< 32 or 64; 0: several words, or no keys
  std::uint32_t radix_bits = 0;
  std::uint32_t radix_shift = 0;  ///< first key bit of the raw digit
  bool mixed_digit = false;       ///< the digit comes from a mixed hash because the raw key does not balance
  std::uint64_t slice_rows = 0;
  std::uint32_t lanes = 1;
  std::uint64_t chunk_rows = 0;
  std::string tuning;              ///< the choices, as --tuning would spell them
  std::uint64_t device_bytes = 0;  ///< planned device memory
  std::uint64_t host_bytes = 0;    ///< planned host memory beside the inputs
  std::vector<Candidate> candidates;
  std::vector<std::pair<std::string, std::string>> details;  ///< what the operator decided of its own: name, value
  std::vector<std::string> notes;  ///< passes that run differently than asked for or usual, and why
};

std::string to_string(Plan const& plan);
/// One JSON object.
std::string to_json(Plan const& plan);

struct PhaseStats {
  std::string name;         ///< partition, upload, statistics, build, count, prefix, probe, download, gather
  std::uint64_t ns = 0;     ///< summed over lanes, so phases may add up to more than the total
  std::uint64_t bytes = 0;  ///< bytes read and written by the phase where that is counted
  std::uint64_t items = 0;  ///< points drawn, rows moved
};

/// Times and counters of a run; the fields of `--stats=json`.
struct RunStats {
  Path path = Path::cpu;
  std::string device;
  std::string driver;
  std::optional<std::uint64_t> rows;  ///< of the table of a group-by, which has no left and right
  std::uint64_t rows_left = 0;
  std::uint64_t rows_right = 0;
  std::uint64_t rows_out = 0;
  std::uint64_t total_ns = 0;
  std::vector<PhaseStats> phases;
  std::vector<std::pair<std::string, std::uint64_t>>
      counters;  ///< partitions, slices, stack slices, layers, windows, …
};

/// One JSON object.
std::string to_json(RunStats const& stats);

}  // namespace garuda
