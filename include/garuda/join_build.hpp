// The build side of joins: made once, probed as often as wanted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/table.hpp"

namespace garuda {

namespace join {
class JoinBuildState;
}  // namespace join

/// How a build side is made.
struct JoinBuildOptions {
  /// Null keys match null keys, as JoinSpec::nulls_equal has it for the joins that come.
  bool nulls_equal = false;
  std::uint32_t threads = 0;             ///< of the host; 0: as many as it has, at most 4096
  std::uint64_t memory_limit_bytes = 0;  ///< of the keys and their tables; 0: no limit
  /// Partitions are 2^radix_bits, at most 16; -1: chosen by the number of rows and the host's rates.
  std::int32_t radix_bits = -1;
  Control control{};
};

/// The right table of joins, ready to be probed. Made by Engine::build; refers to its table, which must outlive it and
/// the results of its joins. A copy shares what was made. Safe to use from several threads.
class JoinBuild {
 public:
  /// The table that it was made of.
  TableView table() const noexcept;
  /// Its key columns.
  std::vector<std::string> const& keys() const noexcept;
  /// Host memory that its keys and tables take, bytes.
  std::uint64_t host_bytes() const;

  /// The library's own.
  explicit JoinBuild(std::shared_ptr<join::JoinBuildState> state);
  join::JoinBuildState& state() const noexcept { return *state_; }

 private:
  std::shared_ptr<join::JoinBuildState> state_;
};

/// The right side of a join: a table, or the build side that was made of one. Refers to it.
class JoinRight {
 public:
  JoinRight(TableView table) : table_(table) {}  // NOLINT(google-explicit-constructor): stands for either
  JoinRight(JoinBuild const& build) : table_(build.table()), build_(&build) {}  // NOLINT(google-explicit-constructor)

  TableView table() const noexcept { return table_; }
  /// nullptr: it is a table alone.
  JoinBuild const* build() const noexcept { return build_; }

 private:
  TableView table_;
  JoinBuild const* build_ = nullptr;
};

}  // namespace garuda
