// Synthetic tables of the join benchmarks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/workloads/reference_join.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::bench {

/// Which keys there are, and how often the right side draws each.
///   dense    left keys 0…d-1; the right side draws each equally often (each once when both sides have d rows)
///   uniform  d distinct left keys spread over the whole range of the type; independent uniform draws
///   zipf     left keys 0…d-1; draws with probability ∝ 1 / rank^exponent, the hot keys scattered over the range
struct KeyDistribution {
  enum class Kind : std::uint8_t { dense, uniform, zipf };
  Kind kind = Kind::dense;
  double exponent = 0;  ///< zipf

  friend bool operator==(KeyDistribution const&, KeyDistribution const&) = default;
};

/// Parses `dense`, `uniform` or `zipf:Z`, Z >= 0. Errors: usage.
Result<KeyDistribution> parse_key_distribution(std::string_view text);
std::string to_string(KeyDistribution const& distribution);

enum class KeyType : std::uint8_t { i32, i64 };
/// Parses `i32` or `i64`. Errors: usage.
Result<KeyType> parse_key_type(std::string_view text);
std::string_view to_string(KeyType type) noexcept;

/// The left side is the one with the primary key: d = ceil(rows_left / multiplicity) distinct keys in random order,
/// each on `multiplicity` rows (some on one less when that does not divide). round(match_ratio × rows_right) of the
/// right rows draw from them, the others hold keys that the left side does not.
struct JoinWorkload {
  std::uint64_t rows_left = 0;
  std::uint64_t rows_right = 0;
  std::uint32_t payload_left = 1;   ///< columns l0, l1, … beside the key, random bits
  std::uint32_t payload_right = 1;  ///< columns r0, r1, …
  KeyType key_type = KeyType::i32;
  std::optional<KeyType> payload_type;  ///< nullopt: the key's
  KeyDistribution distribution;
  double match_ratio = 1;
  std::uint64_t multiplicity = 1;
  std::uint64_t seed = 1;
};

/// Whether there is such a workload. Errors: usage (match ratio outside [0, 1], multiplicity 0, more keys than the type
/// has).
Result<void> check(JoinWorkload const& workload);

struct JoinTables {
  Table left;   ///< key, l0, l1, …
  Table right;  ///< key, r0, r1, …
};

/// The most rows that the workload's inner join can have; exact when `multiplicity` divides rows_left, and
/// 2^64 - 1 at most. Requires a match ratio in [0, 1].
std::uint64_t max_result_rows(JoinWorkload const& workload) noexcept;

/// Makes the two tables, in parallel; the same data for the same workload whatever the number of threads. One batch a
/// table, columns aligned so that a device can import them, no nulls.
/// Errors: those of check(); out_of_memory.
Result<JoinTables> generate_join_tables(JoinWorkload const& workload);

/// Tables whose rows match by ranges. Left: a, drawn from all of int32 that is not negative, and x, the row. Right: lo,
/// drawn likewise, hi, as much more that a left row has about one match in a band, and y, the row.
struct NonEquiWorkload {
  std::uint64_t rows_left = 0;
  std::uint64_t rows_right = 0;
  Matching condition = Matching::band;  ///< less: left.a < right.lo, half of all pairs; band: lo <= a <= hi
  std::uint64_t seed = 1;
};
/// Parses `less` or `band`. Errors: usage.
Result<Matching> parse_condition(std::string_view text);
std::string_view to_string(Matching condition) noexcept;

/// Makes the two tables as above. Errors: usage for no rows or more than 2^31; out_of_memory.
Result<JoinTables> generate_non_equi_tables(NonEquiWorkload const& workload);

}  // namespace garuda::bench
