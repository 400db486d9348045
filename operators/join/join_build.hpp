// Makes the build side of joins before them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/join_build.hpp"
#include "garuda/table.hpp"
#include "keys/join_keys.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/contract/key_span.hpp"
#include "operators/contract/offers/path_row.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/resolve/built_side.hpp"
#include "operators/resolve/join_columns.hpp"

namespace garuda::join {

/// The pieces of a build side that slices name.
std::vector<contract::KeySpan> pieces_of(partition::PartitionedKeys const& keys);

/// The path whose tables a build side keeps.
contract::PathRow const& path_of_tables();

/// A right table with one BuiltSide for each list of types that its keys were compared as so far.
class JoinBuildState {
 public:
  /// `names`: of the key columns at `columns`. `devices` and `stats`, which may be null, outlive it. Phases reported:
  /// encode, partition, build.
  JoinBuildState(TableView table, std::vector<std::string> names, std::vector<std::size_t> columns,
                 JoinBuildOptions options, contract::DeviceSet& devices, contract::StatsSink* stats = nullptr)
      : table_(table),
        names_(std::move(names)),
        columns_(std::move(columns)),
        options_(std::move(options)),
        devices_(devices),
        stats_(stats) {}

  TableView table() const noexcept { return table_; }
  std::vector<std::string> const& names() const noexcept { return names_; }
  std::uint64_t host_bytes() const;

  /// Makes the side for keys that are compared as they are. Blocks. Errors: usage for a table on a device,
  /// limit_exceeded, those of BuildKeys::create, plan_join, radix_partition and JoinRow::build_tables.
  Result<void> make();

  /// The side for probe keys in columns like `probe`, in the order of the key columns: of the types that keys are
  /// compared as, which is made now where it was not before. Errors: those of common_key_type and make().
  Result<std::shared_ptr<resolve::BuiltSide const>> side_for(std::span<Field const> probe, Control const& control);

  /// Makes `request`, whose right table is this one, a join with this build side: of the types that its keys are
  /// compared as, which is made now where it was not before.
  /// Errors: usage for other keys, another treatment of nulls or a tuning that contradicts it; those of make().
  Result<void> give_to(resolve::JoinRequest& request);

 private:
  using Compared = std::vector<keys::ComparedKey>;

  Result<std::shared_ptr<resolve::BuiltSide const>> side_of(Compared const& compared, Control const& control);
  Result<std::shared_ptr<resolve::BuiltSide const>> make(Compared const& compared, Control const& control) const;
  Result<void> check_memory(keys::EncodedKeys const& words) const;
  Result<std::uint32_t> radix_bits(keys::EncodedKeys const& words) const;

  TableView table_;
  std::vector<std::string> names_;
  std::vector<std::size_t> columns_;
  JoinBuildOptions options_;
  contract::DeviceSet& devices_;
  contract::StatsSink* stats_;
  mutable std::mutex mutex_;
  std::vector<std::pair<Compared, std::shared_ptr<resolve::BuiltSide const>>> sides_;
};

}  // namespace garuda::join
