// The joins and group-bys that every report measures, the same data and the same names wherever it is made, and the
// time that they may take.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/workloads/workload.hpp"
#include "core/stopwatch.hpp"
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

/// Samples of a visit to a cell where its share of the time allows; three it has in any case.
inline constexpr std::uint32_t kMostRepeats = 7;

/// Seconds, and what they were spent on.
class Budget {
 public:
  explicit Budget(double seconds) : seconds_(seconds) {}

  double left() const { return seconds_ - static_cast<double>(watch_.elapsed_ns()) / 1e9; }
  double spent() const { return static_cast<double>(watch_.elapsed_ns()) / 1e9; }

  /// `who`: a position among the targets, or kTables. Remembers what a row takes in the cells that differ by size
  /// alone.
  void took(std::size_t who, SuiteCell const& cell, double seconds);
  /// Seconds that the cell will take, as the last one did that `who` had of its kind; 0 when there was none.
  double expected(std::size_t who, SuiteCell const& cell) const;
  /// The `who` of generating tables and their reference.
  static constexpr std::size_t kTables = SIZE_MAX;

  /// The targets that the time allows, in the order of their expected times, and the reasons of the others. None is
  /// expected to take more than a quarter of what is left: `seconds`.
  struct Allowed {
    std::vector<std::size_t> targets;
    double seconds = 0;
    std::vector<std::pair<std::size_t, std::string>> left_out;
  };
  Allowed allow(std::vector<std::size_t> targets, SuiteCell const& cell) const;
  /// Why the cell's tables cannot be made in time; empty when they can.
  std::string tables_reason(SuiteCell const& cell) const;

 private:
  std::string reason(double seconds) const;

  double seconds_;
  Stopwatch watch_;
  std::map<std::pair<std::size_t, bool>, double> seconds_a_row_;  ///< by who, and whether it is a join
};

}  // namespace garuda::report
