// The joins and group-bys that every report measures: the same data and the same names wherever it is made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workloads/workload.hpp"
#include "garuda/error.hpp"

namespace garuda::report {

/// Reports are compared cell by cell if this is the same. It grows with every change of a cell's data or name.
inline constexpr int kSuiteVersion = 1;
inline constexpr std::uint64_t kSuiteSeed = 1;
/// The series of cells that differ by size alone.
inline constexpr std::string_view kGrowth = "growth";

/// How much is measured, if time and memory allow.
enum class Thoroughness : std::uint8_t { quick, standard, full };
std::string_view to_string(Thoroughness thoroughness) noexcept;

struct SuiteCell {
  std::string id;      ///< "join-20-zipf"
  std::string title;   ///< for people: "join 2^20 ⋈ 2^20, Zipf 1"
  std::string series;  ///< "growth", or what varies at this size: "axes 2^20"
  Thoroughness from;   ///< the least thorough report that has it
  bench::WorkloadSpec workload;

  /// Rows of the table, or of both sides of a join.
  std::uint64_t rows() const;
  bool is_join() const noexcept { return std::holds_alternative<bench::JoinWorkload>(workload); }
};

/// All cells, those first that matter most, since time may run out.
std::vector<SuiteCell> suite();

}  // namespace garuda::report
